//! Statistics of data with known properties.

use manometer_trace::character::hurst::{Hurst, detrended_fluctuation, rescaled_range};
use manometer_trace::character::zipf::{ZipfFitQuality, fit};
use manometer_trace::character::{Character, CharacterOptions, Report};
use manometer_trace::{Record, TraceOperation};
use rand::{RngExt as _, SeedableRng as _};
use rand_distr::{Distribution as _, Exp, Poisson, StandardNormal, Zipf};
use rand_xoshiro::Xoshiro256PlusPlus;

fn random(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

fn report(records: impl IntoIterator<Item = Record>, options: CharacterOptions) -> Report {
    let mut character = Character::new(options);
    let records: Vec<Record> = records.into_iter().collect();
    records.chunks(1000).for_each(|records| character.add(records));
    character.report()
}

fn get(time_ns: u64, key: u64) -> Record {
    Record { time_ns: Some(time_ns), ..Record::new(TraceOperation::Get, key) }
}

/// Fractional Gaussian noise, exact, by Hosking's recursion.
fn fractional_noise(hurst: f64, samples: usize, random: &mut Xoshiro256PlusPlus) -> Vec<f64> {
    let power = |lag: f64| lag.abs().powf(2.0 * hurst);
    let covariance = |lag: usize| {
        let lag = lag as f64;
        (power(lag + 1.0) - 2.0 * power(lag) + power(lag - 1.0)) / 2.0
    };
    let (mut weights, mut variance): (Vec<f64>, f64) = (Vec::new(), 1.0);
    let mut noise: Vec<f64> = vec![StandardNormal.sample(random)];
    for at in 1..samples {
        let explained: f64 = weights.iter().enumerate().map(|(lag, weight)| weight * covariance(at - 1 - lag)).sum();
        let last = (covariance(at) - explained) / variance;
        let reversed: Vec<f64> = weights.iter().rev().copied().collect();
        weights.iter_mut().zip(reversed).for_each(|(weight, other)| *weight -= last * other);
        weights.push(last);
        variance *= 1.0 - last * last;
        let mean: f64 = weights.iter().zip(noise.iter().rev()).map(|(weight, value)| weight * value).sum();
        let shock: f64 = StandardNormal.sample(random);
        noise.push(mean + variance.sqrt() * shock);
    }
    noise
}

#[test]
fn the_hurst_exponent_of_fractional_noise_is_found() {
    for (seed, hurst) in [(1, 0.5), (2, 0.6), (3, 0.7), (4, 0.8), (5, 0.9)] {
        let mut random = random(seed);
        let series: Vec<Vec<f64>> = (0..8).map(|_| fractional_noise(hurst, 2048, &mut random)).collect();
        let mean = |of: fn(&[f64]) -> Option<Hurst>| {
            let found: Vec<Hurst> = series.iter().map(|series| of(series).unwrap()).collect();
            for one in &found {
                assert!((one.value - hurst).abs() < 5.0 * one.standard_error.unwrap(), "{one:?} for {hurst}");
            }
            found.iter().map(|found| found.value).sum::<f64>() / found.len() as f64
        };
        let (range, fluctuation) = (mean(rescaled_range), mean(detrended_fluctuation));
        assert!((range - hurst).abs() < 0.06, "{range} for {hurst} by rescaled range");
        assert!((fluctuation - hurst).abs() < 0.06, "{fluctuation} for {hurst} by detrended fluctuation");
    }
}

#[test]
fn arrivals_that_remember_have_their_hurst_exponent_and_dispersion() {
    let noise = fractional_noise(0.8, 2048, &mut random(21));
    let second = 1_000_000_000;
    let requests = noise.iter().zip(0_u64..).flat_map(|(noise, at)| {
        let count = (100.0 + 20.0 * noise).round().max(0.0) as u64;
        (0..count).map(move |number| get(at * second + number * second / count, number % 10))
    });
    let bursts = report(requests, CharacterOptions::default()).burstiness;
    for hurst in [bursts.hurst_rs.unwrap(), bursts.hurst_dfa.unwrap()] {
        assert!((hurst.value - 0.8).abs() < 3.0 * hurst.standard_error.unwrap(), "{hurst:?}");
    }
    // A variance of 400 around a mean of 100, and its growth in longer windows by 10^0.6.
    let [one, ten] = [bursts.dispersion[0].index, bursts.dispersion[1].index];
    assert!((one / 4.0 - 1.0).abs() < 0.15 && (ten / one / 10_f64.powf(0.6) - 1.0).abs() < 0.2, "{one} {ten}");
}

/// Request counts of keys, descending.
fn zipf_requests(exponent: f64, keys: u64, requests: usize, random: &mut Xoshiro256PlusPlus) -> Vec<u64> {
    let zipf = Zipf::new(keys as f64, exponent).unwrap();
    let mut counts = vec![0; keys as usize];
    (0..requests).for_each(|_| counts[zipf.sample(random) as usize - 1] += 1);
    sorted(counts)
}

fn sorted(mut counts: Vec<u64>) -> Vec<u64> {
    counts.retain(|count| *count > 0);
    counts.sort_unstable_by(|one, other| other.cmp(one));
    counts
}

#[test]
fn the_exponent_of_zipf_is_found_with_its_error() {
    let cases = [
        (0.5, 20_000, 300_000),
        (0.8, 100_000, 400_000),
        (0.99, 1000, 400_000),
        (1.0, 1_000_000, 300_000),
        (1.3, 50_000, 300_000),
    ];
    let mut refused = 0;
    for (number, (exponent, keys, requests)) in cases.into_iter().enumerate() {
        for seed in 0..4 {
            let fitted =
                fit(&zipf_requests(exponent, keys, requests, &mut random(seed * 100 + number as u64))).unwrap();
            let error = fitted.exponent - exponent;
            assert!(error.abs() < 4.0 * fitted.standard_error, "{exponent} of {keys} keys: {fitted:?}");
            assert!(fitted.standard_error < 0.03, "{fitted:?}");
            assert_ne!(fitted.verdict, ZipfFitQuality::NotZipf);
            refused += usize::from(fitted.verdict != ZipfFitQuality::Zipf);
        }
    }
    assert!(refused <= 6, "a tenth of true laws is refused, here {refused} of 20");
}

#[test]
fn the_verdict_of_another_popularity_is_not_zipf() {
    let mut random = random(7);
    // Two levels: a tenth of the keys are nine times as popular as the others.
    let levels: Vec<u64> = (0..2000)
        .map(|key| Poisson::new(if key < 200 { 900.0 } else { 100.0 }).unwrap().sample(&mut random) as u64)
        .collect();
    assert_eq!(fit(&sorted(levels)).unwrap().verdict, ZipfFitQuality::NotZipf);
    // Exponential popularity.
    let falling: Vec<u64> = (0..1000).map(|key| (10_000.0 * (-f64::from(key) / 150.0).exp()) as u64).collect();
    assert_eq!(fit(&sorted(falling)).unwrap().verdict, ZipfFitQuality::NotZipf);
    // Uniform popularity is a Zipf distribution of exponent 0.
    let even: Vec<u64> = (0..500).map(|_| Poisson::new(200.0).unwrap().sample(&mut random) as u64).collect();
    let fitted = fit(&sorted(even)).unwrap();
    assert!(fitted.exponent < 0.03, "{fitted:?}");
    assert_eq!(fit(&[5; 1000]), None);
    assert_eq!(fit(&[]), None);
}

#[test]
fn a_poisson_process_has_no_bursts() {
    let mut random = random(11);
    let exponential = Exp::new(100.0 / 1e9).unwrap();
    let mut time = 0.0;
    let records: Vec<Record> = (0..200_000)
        .map(|_| {
            time += exponential.sample(&mut random);
            get(time as u64, 1)
        })
        .collect();
    let report = report(records, CharacterOptions::default());
    let bursts = &report.burstiness;
    assert!(
        (bursts.dispersion[0].index - 1.0).abs() < 0.1 && (bursts.dispersion[1].index - 1.0).abs() < 0.3,
        "{bursts:?}"
    );
    assert!((bursts.hurst_dfa.unwrap().value - 0.5).abs() < 0.1 && (bursts.hurst_rs.unwrap().value - 0.5).abs() < 0.1);
    let gaps = report.inter_arrival_s.unwrap();
    assert!((gaps.mean - 0.01).abs() < 2e-4 && (gaps.variation.unwrap() - 1.0).abs() < 0.02, "{gaps:?}");
    assert!(
        (gaps.p50 / (0.01 * 2_f64.ln()) - 1.0).abs() < 0.04 && (gaps.p99 / (0.01 * 100_f64.ln()) - 1.0).abs() < 0.06
    );
}

#[test]
fn a_loop_has_one_reuse_distance() {
    let report = report((0..10_000).map(|number| get(number * 1_000_000, number % 100)), CharacterOptions::default());
    let distances = report.reuse_distance.distances.unwrap();
    assert_eq!((distances.min, distances.max, distances.samples), (100.0, 100.0, 9900.0));
    assert_eq!((report.reuse_distance.method, report.reuse_distance.cold_requests), ("exact", 100.0));
    let times = report.reuse_time_s.unwrap();
    assert!((times.min - 0.1).abs() < 1e-12 && (times.max - 0.1).abs() < 1e-12);
    let set = report.working_set;
    assert_eq!((set.stretch_s, set.stretches.len(), set.stretches[3].keys), (Some(1.0), 10, 100.0));
    assert_eq!((set.stretches[0].new_keys, set.stretches[1].new_keys), (100.0, 0.0));
    assert_eq!(report.span_s, Some(9.999));
}

#[test]
fn above_a_bound_of_keys_a_sample_gives_nearly_the_same() {
    let zipf = Zipf::new(50_000.0, 0.9).unwrap();
    let mut random = random(3);
    let records: Vec<Record> = (0..400_000).map(|at| get(at * 1_000_000, zipf.sample(&mut random) as u64)).collect();
    let exact = report(records.clone(), CharacterOptions::default());
    let sampled = report(records, CharacterOptions { keys_max: 8000, ..CharacterOptions::default() });
    assert_eq!((exact.key_sample.method, sampled.key_sample.method), ("exact", "sampled"));
    assert!((sampled.keys / exact.keys - 1.0).abs() < 0.05, "{} for {}", sampled.keys, exact.keys);
    let wonders = |report: &Report| report.popularity.as_ref().unwrap().one_hit_wonders.keys_share;
    assert!((wonders(&sampled) - wonders(&exact)).abs() < 0.03);
    let median = |report: &Report| report.reuse_distance.distances.as_ref().unwrap().p90;
    assert!((median(&sampled) / median(&exact) - 1.0).abs() < 0.15, "{} for {}", median(&sampled), median(&exact));
    let exponent = |report: &Report| report.popularity.as_ref().unwrap().zipf.as_ref().unwrap().exponent;
    assert!((exponent(&exact) - 0.9).abs() < 0.003 && (exponent(&sampled) - 0.9).abs() < 0.006);
    let verdict = |report: &Report| report.popularity.as_ref().unwrap().zipf.as_ref().unwrap().verdict;
    assert!(verdict(&exact) != ZipfFitQuality::NotZipf && verdict(&sampled) != ZipfFitQuality::NotZipf);
    let hot = |report: &Report| report.popularity.as_ref().unwrap().hot_keys.clone();
    assert_eq!(hot(&exact), hot(&sampled));
    let top = |report: &Report| report.popularity.as_ref().unwrap().top.clone();
    for (one, other) in top(&exact).iter().zip(top(&sampled)) {
        assert!((one.requests_share - other.requests_share).abs() < 0.02, "{one:?} {other:?}");
    }
    assert!((sampled.reuse_distance.cold_share - exact.reuse_distance.cold_share).abs() < 0.01);
}

#[test]
fn traces_without_times_sizes_and_clients_have_gaps() {
    let report =
        report((0..5000).map(|number| Record::new(TraceOperation::Get, number % 7)), CharacterOptions::default());
    assert_eq!((report.span_s, report.times.absent), (None, 5000));
    assert!(report.inter_arrival_s.is_none() && report.reuse_time_s.is_none() && report.value_size_bytes.is_none());
    assert!(report.burstiness.reason.unwrap().contains("no times"));
    assert!(report.diurnal_reason.unwrap().contains("no times"));
    assert!(report.sessions.is_none() && report.sessions_reason.is_some() && report.device.is_none());
    assert_eq!((report.working_set.stretch_s, report.working_set.stretch_requests), (None, Some(1024)));
    assert_eq!(report.working_set.stretches[1].keys, 7.0);
    assert_eq!(report.reuse_distance.distances.unwrap().max, 7.0);
}

#[test]
fn times_that_go_back_or_stand_still_are_counted() {
    let second = 1_000_000_000;
    let times = [5, 3, 3, 9, 0].map(|time| time * second);
    let report = report(times.map(|time| get(time, 1)), CharacterOptions::default());
    assert_eq!((report.times.backward, report.times.equal, report.span_s), (2, 1, Some(9.0)));
    let gaps = report.inter_arrival_s.unwrap();
    assert_eq!((gaps.samples, gaps.max), (2.0, 6.0));
    let all_at_once = report_of_equal_times();
    assert_eq!((all_at_once.span_s, all_at_once.times.equal), (Some(0.0), 99));
    assert_eq!((report.times.resolution_s, all_at_once.times.resolution_s), (Some(1.0), None));
    assert!(all_at_once.burstiness.dispersion.is_empty() && all_at_once.burstiness.hurst_rs.is_none());
}

fn report_of_equal_times() -> Report {
    report((0..100).map(|key| get(7, key)), CharacterOptions::default())
}

#[test]
fn the_largest_numbers_are_no_overflow() {
    let most = u64::MAX;
    let record = |key, time_ns| Record {
        value_size: Some(most),
        client: Some(most),
        key_size: Some(u32::MAX),
        ..get(time_ns, key)
    };
    let report = report(
        [record(most, 0), record(0, most), record(most - 1, 1), record(most, most)],
        CharacterOptions { latency_ns: Some(most), ..CharacterOptions::default() },
    );
    assert_eq!((report.keys, report.requests), (3.0, 4));
    let block = Record::block(TraceOperation::Write, u32::MAX, most, 512, most);
    assert_eq!(self::report([block, block], CharacterOptions::default()).device.unwrap().write.requests, 2);
}

#[test]
fn nothing_has_an_empty_character() {
    let report = report([], CharacterOptions::default());
    assert_eq!((report.requests, report.keys, report.popularity), (0, 0.0, None));
    assert!(report.working_set.stretches.iter().all(|stretch| stretch.requests == 0.0));
}

#[test]
fn keys_without_end_take_no_memory_without_end() {
    let mut random = random(9);
    let records = (0..300_000).map(|at| get(at, random.random()));
    let report =
        report(records.collect::<Vec<_>>(), CharacterOptions { keys_max: 1000, ..CharacterOptions::default() });
    assert!(report.key_sample.rate < 0.01 && (report.keys / 300_000.0 - 1.0).abs() < 0.15, "{}", report.keys);
    assert!(report.reuse_distance.cold_share > 0.85 && report.reuse_distance.cold_share <= 1.0);
}
