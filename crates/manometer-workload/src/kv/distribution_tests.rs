use super::*;
use statrs::distribution::{ChiSquared, ContinuousCDF as _};

const SEEDS: [u64; 3] = [1, 42, 20_260_101];
const DRAWS: u64 = 400_000;
/// Significance level of the tests.
const P_MIN: f64 = 0.001;

/// The p-value of a chi-square test of `counts` against the expected shares.
fn chi_square_p(counts: &[u64], shares: &[f64]) -> f64 {
    let draws: u64 = counts.iter().sum();
    let terms = counts.iter().zip(shares).map(|(count, share)| {
        let expected = share * draws as f64;
        (*count as f64 - expected).powi(2) / expected
    });
    ChiSquared::new(shares.len() as f64 - 1.0).unwrap().sf(terms.sum())
}

fn counts(records: u64, seed: u64, mut draw: impl FnMut(&mut Random) -> u64) -> Vec<u64> {
    let mut random = stream(seed, 0);
    let mut counts = vec![0; records as usize];
    for _ in 0..DRAWS {
        counts[draw(&mut random) as usize] += 1;
    }
    counts
}

fn zipf_shares(count: u64, exponent: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=count).map(|rank| (rank as f64).powf(-exponent)).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

#[test]
fn uniform_is_uniform() {
    for seed in SEEDS {
        let uniform = Uniform::new(1000);
        let counts = counts(1000, seed, |random| uniform.draw(random));
        let p = chi_square_p(&counts, &[0.001; 1000]);
        assert!(p > P_MIN, "seed {seed}: p = {p}");
    }
}

/// Counts of ranks below `count` into the first hundred alone and the others in powers of two.
fn binned(count: u64, number_of: impl Fn(u64) -> f64) -> Vec<f64> {
    let mut bins = Vec::new();
    let mut from = 0;
    while from < count {
        let width = if from < 100 { 1 } else { from };
        let to = (from + width).min(count);
        bins.push((from..to).map(&number_of).sum());
        from = to;
    }
    bins
}

fn binned_counts(counts: &[u64]) -> Vec<u64> {
    let bins = binned(counts.len() as u64, |rank| counts[rank as usize] as f64);
    bins.into_iter().map(|bin| bin as u64).collect()
}

#[test]
fn zipf_is_exact_for_exponents_below_at_and_above_one() {
    for exponent in [0.5, 0.99, 0.9999, 1.0, 1.2, 2.0] {
        for count in [1, 2, 200, 10_000] {
            let shares = zipf_shares(count, exponent);
            let shares = binned(count, |rank| shares[rank as usize]);
            let (zipf, steps) = (ZipfDistribution::new(count, exponent), ZipfSteps::new(count, exponent));
            for seed in SEEDS {
                let inverted = counts(count, seed, |random| zipf.draw(random));
                let by_steps = counts(count, seed, |random| steps.draw(random));
                for (name, counts) in [("inverted", inverted), ("by steps", by_steps)] {
                    let p = if count == 1 { 1.0 } else { chi_square_p(&binned_counts(&counts), &shares) };
                    assert!(p > P_MIN, "{name}, exponent {exponent} of {count}, seed {seed}: p = {p}");
                }
            }
        }
    }
}

/// Within the ranks that share a step, each rank gets its own share.
#[test]
fn ranks_that_share_a_step_differ_as_they_should() {
    const RANKS: std::ops::Range<u64> = 512..544;
    for exponent in [0.3, 1.0, 3.0, 12.0] {
        let weight = |rank: u64| ((rank + 1) as f64).powf(-exponent);
        let sum: f64 = RANKS.map(weight).sum();
        let shares: Vec<f64> = RANKS.map(|rank| weight(rank) / sum).collect();
        let steps = ZipfSteps::over(RANKS.start + 1, RANKS.end, exponent);
        for seed in SEEDS {
            let counts = counts(RANKS.end, seed, |random| steps.draw(random));
            let p = chi_square_p(&counts[RANKS.start as usize..], &shares);
            assert!(p > P_MIN, "exponent {exponent}, seed {seed}: p = {p}");
        }
    }
}

/// Too many ranks for a table: the shares of a thousand million ranks, in powers of ten.
#[test]
fn zipf_is_exact_for_a_thousand_million_ranks() {
    const COUNT: u64 = 1_000_000_000;
    for exponent in [0.5, 0.99, 1.0, 1.2, 2.0] {
        let sums: Vec<f64> = (0..=9).map(|power| harmonic(10_u64.pow(power), exponent)).collect();
        let shares: Vec<f64> = (0..10).map(|at| sums[at] - if at == 0 { 0.0 } else { sums[at - 1] }).collect();
        // Combines the ranks that are too rare to be tested.
        let first = shares.iter().position(|share| share / sums[9] * DRAWS as f64 > 10.0).unwrap();
        let last = shares.iter().rposition(|share| share / sums[9] * DRAWS as f64 > 10.0).unwrap();
        let bins = last - first + 1;
        let mut expected = vec![0.0; bins];
        for (at, share) in shares.iter().enumerate() {
            expected[at.clamp(first, last) - first] += share / sums[9];
        }
        let (zipf, steps) = (ZipfDistribution::new(COUNT, exponent), ZipfSteps::new(COUNT, exponent));
        type Draw<'a> = &'a dyn Fn(&mut Random) -> u64;
        let draws: [(&str, Draw<'_>); 2] =
            [("inverted", &|random| zipf.draw(random)), ("by steps", &|random| steps.draw(random))];
        for (name, draw) in draws {
            for seed in SEEDS {
                let mut random = stream(seed, 0);
                let mut counts = vec![0; bins];
                for _ in 0..DRAWS {
                    let rank = draw(&mut random) + 1;
                    let at = (0..10).find(|at| rank <= 10_u64.pow(*at as u32)).unwrap();
                    counts[at.clamp(first, last) - first] += 1;
                }
                let p = chi_square_p(&counts, &expected);
                assert!(p > P_MIN, "{name}, exponent {exponent}, seed {seed}: p = {p}");
            }
        }
    }
}

#[test]
fn a_hot_set_gets_its_share_and_all_in_it_alike() {
    let shares: Vec<f64> = (0..100).map(|record| if record < 20 { 0.7 / 20.0 } else { 0.3 / 80.0 }).collect();
    for seed in SEEDS {
        let hotspot = Hotspot::new(100, 0.2, 0.7);
        let p = chi_square_p(&counts(100, seed, |random| hotspot.draw(random)), &shares);
        assert!(p > P_MIN, "seed {seed}: p = {p}");
    }
    let all_hot = Hotspot::new(100, 1.0, 1.0);
    assert!(counts(100, 1, |random| all_hot.draw(random)).iter().all(|count| *count > 0));
}

#[test]
fn exponential_is_exponential_over_age_and_holds_its_percentile() {
    const RECORDS: u64 = 200;
    let rate = rate(RECORDS, 95.0, 0.5);
    let weights: Vec<f64> = (0..RECORDS).rev().map(|age| (-rate * age as f64).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let shares: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
    for seed in SEEDS {
        let exponential = Exponential::new(rate);
        let counts = counts(RECORDS, seed, |random| exponential.draw(RECORDS, random));
        let p = chi_square_p(&counts, &shares);
        assert!(p > P_MIN, "seed {seed}: p = {p}");
    }
    let last_half: f64 = shares[100..].iter().sum();
    // Of the draws that lie within the records.
    assert!((last_half * (1.0 - (-rate * 200.0).exp()) - 0.95).abs() < 1e-9, "{last_half}");
}

#[test]
fn sequential_takes_all_records_in_turn_whatever_the_threads() {
    for threads in [1, 3, 10, 25] {
        let mut of_threads: Vec<Sequential> = (0..threads).map(|at| Sequential::new(10, at, threads)).collect();
        let drawn: Vec<u64> =
            (0..4).flat_map(|_| of_threads.iter_mut().map(Sequential::draw).collect::<Vec<_>>()).collect();
        let wanted: Vec<u64> = (0..u64::from(4 * threads)).map(|turn| turn % 10).collect();
        assert_eq!(drawn, wanted, "{threads} threads");
    }
}

#[test]
fn what_grows_is_drawn_from_as_far_as_it_has_grown() {
    let shares: Vec<f64> = zipf_shares(300, EXPONENT).into_iter().rev().collect();
    let space = KeySpace { records: 200, expected: 400, thread: 0, threads: 1 };
    for seed in SEEDS {
        let mut latest = KeyChooser::new(PopularityDistribution::Latest { exponent: EXPONENT }, space, seed);
        let p = chi_square_p(&counts(300, seed, |random| latest.draw(300, random)), &shares);
        assert!(p > P_MIN, "seed {seed}: p = {p}");
        // Popular records stay popular as the number of records grows.
        let zipf = ScatteredZipf::new(400, EXPONENT, seed);
        let of_all = zipf_shares(400, EXPONENT);
        let mut of_place = vec![0.0; 300];
        (0..400).for_each(|rank| {
            if let Some(share) = of_place.get_mut(zipf.record_of(rank) as usize) {
                *share = of_all[rank as usize];
            }
        });
        let sum: f64 = of_place.iter().sum();
        let of_place: Vec<f64> = of_place.into_iter().map(|share| share / sum).collect();
        let mut zipfian = KeyChooser::new(PopularityDistribution::ZIPFIAN, space, seed);
        let p = chi_square_p(&counts(300, seed, |random| zipfian.draw(300, random)), &of_place);
        assert!(p > P_MIN, "seed {seed}: p = {p}");
    }
}

#[test]
fn scattering_moves_shares_and_changes_none() {
    let shares = zipf_shares(300, EXPONENT);
    for seed in SEEDS {
        let zipf = ScatteredZipf::new(300, EXPONENT, seed);
        let counts = counts(300, seed, |random| zipf.draw(random));
        let by_rank: Vec<u64> = (0..300).map(|rank| counts[zipf.record_of(rank) as usize]).collect();
        let p = chi_square_p(&by_rank, &shares);
        assert!(p > P_MIN, "seed {seed}: p = {p}");
    }
}

#[test]
fn latest_is_zipf_over_age() {
    let mut shares = zipf_shares(200, EXPONENT);
    shares.reverse();
    for seed in SEEDS {
        let mut latest = Latest::new(200, EXPONENT);
        let p = chi_square_p(&counts(200, seed, |random| latest.draw(200, random)), &shares);
        assert!(p > P_MIN, "seed {seed}: p = {p}");
    }
}

/// The share of each record follows from the closed form by dividing [0, 1) finely and evenly.
#[test]
fn ycsbs_zipfian_follows_its_closed_form() {
    const RECORDS: u64 = 50;
    const CUTS: u64 = 4_000_000;
    let zipf = YcsbZipfian::new(RECORDS);
    let mut exact = vec![0_u64; RECORDS as usize];
    (0..CUTS).filter_map(|cut| zipf.of((cut as f64 + 0.5) / CUTS as f64)).for_each(|of| exact[of as usize] += 1);
    let all: u64 = exact.iter().sum();
    let shares: Vec<f64> = exact.iter().map(|count| *count as f64 / all as f64).collect();
    for seed in SEEDS {
        let p = chi_square_p(&counts(RECORDS, seed, |random| zipf.draw(random)), &shares);
        assert!(p > P_MIN, "seed {seed}: p = {p}");
    }
}

/// Computed from the formulas of YCSB's `ZipfianGenerator`, `ScrambledZipfianGenerator` and `fnvhash64` with an
/// independent program.
#[test]
fn ycsbs_zipfian_takes_the_records_that_ycsb_takes() {
    let thousand = [(0.0, 144), (0.05, 610), (0.1, 942), (0.25, 809), (0.5, 367), (0.75, 767), (0.9, 991)];
    let million = [(0.0, 801_320), (0.05, 216_074), (0.1, 293_804), (0.5, 686_676), (0.9, 736_200)];
    for (u, record) in thousand {
        assert_eq!(YcsbZipfian::new(1000).of(u), Some(record), "{u}");
    }
    for (u, record) in million {
        assert_eq!(YcsbZipfian::new(1_000_000).of(u), Some(record), "{u}");
    }
    assert_eq!(YcsbZipfian::new(50).of(0.18589), None, "YCSB draws again");
}

#[test]
fn the_top_hundredth_of_a_million_keys_gets_its_share() {
    let mut random = stream(7, 0);
    let zipf = ZipfSteps::new(1_000_000, EXPONENT);
    let top = (0..DRAWS).filter(|_| zipf.draw(&mut random) < 10_000).count() as f64 / DRAWS as f64;
    assert!((top - 0.664).abs() < 0.005, "{top}");
}

/// All distributions.
const ALL: [PopularityDistribution; 7] = [
    PopularityDistribution::Uniform,
    PopularityDistribution::ZIPFIAN,
    PopularityDistribution::YcsbZipfian,
    PopularityDistribution::Latest { exponent: 1.2 },
    PopularityDistribution::Hotspot { records: 0.2, requests: 0.8 },
    PopularityDistribution::Exponential { percentile: 95.0, fraction: 0.5 },
    PopularityDistribution::Sequential,
];

#[test]
fn a_stream_can_be_repeated_and_threads_have_their_own() {
    for popularity in ALL {
        let draw = |thread| {
            let space = KeySpace { records: 1000, expected: 1000, thread, threads: 3 };
            let mut records = KeyChooser::new(popularity, space, 9);
            let mut random = stream(9, thread);
            (0..100).map(|_| records.draw(1000, &mut random)).collect::<Vec<_>>()
        };
        assert_eq!(draw(0), draw(0));
        assert_ne!(draw(0), draw(1));
        assert!(draw(2).into_iter().all(|record| record < 1000));
    }
}

#[test]
fn a_drawer_over_a_thousand_million_records_is_small_and_ready_at_once() {
    assert!(size_of::<KeyChooser>() < 256);
    let space = KeySpace { records: 1_000_000_000, expected: 1_000_000_000, thread: 0, threads: 1 };
    for popularity in ALL {
        let mut records = KeyChooser::new(popularity, space, 9);
        assert!(records.draw(space.records, &mut stream(9, 0)) < space.records);
    }
}
