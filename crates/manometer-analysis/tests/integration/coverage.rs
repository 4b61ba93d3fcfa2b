//! The coverage of the 95 % intervals, measured on series with known means.
//!
//! The series are those of `simulated`.

use manometer_analysis::pressure::pressure_of;
use manometer_analysis::statistics::SampleMean;
use manometer_analysis::statistics::autocorrelation::{autocorrelation, autocorrelation_time};
use manometer_analysis::statistics::bootstrap::{
    BatchNoise, BootstrapMean, RunValue, ratio_interval as bootstrap_ratio,
};
use manometer_analysis::statistics::fieller::ratio_interval;
use manometer_analysis::statistics::memory::sample_means;
use manometer_measure::plan::BetterDirection;
use rand::SeedableRng as _;
use rand_distr::{Distribution as _, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::synthetic::simulated::{COEFFICIENTS, SAWS, Saw, series};

const SERIES: usize = 1_000;
const SAMPLES: usize = 600;
const COVERED: std::ops::RangeInclusive<f64> = 0.93..=0.97;

#[test]
fn intervals_of_means_have_nominal_coverage() {
    let mut outside = Vec::new();
    for (seed, coefficient) in COEFFICIENTS.into_iter().enumerate() {
        for saw in SAWS {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed as u64);
            let (mut covered, mut given, mut first_lag, mut time) = (0, 0, 0.0, 0.0);
            for _ in 0..SERIES {
                let series = series(&mut random, SAMPLES, coefficient, saw);
                first_lag += autocorrelation(&series, 1) / SERIES as f64;
                time += autocorrelation_time(&series) / SERIES as f64;
                let Some((low, high)) = SampleMean::of(&series).and_then(|measured| measured.interval()) else {
                    continue;
                };
                given += 1;
                covered += usize::from((low..=high).contains(&0.0));
            }
            let share = covered as f64 / given as f64;
            println!(
                "AR {coefficient:.2}, {saw:?}: lag-1 {first_lag:.2}, time {time:.1}, {given} given, {share:.3} covered"
            );
            if !COVERED.contains(&share) || given < SERIES * 99 / 100 {
                outside.push((coefficient, saw, share, given));
            }
        }
    }
    assert!(outside.is_empty(), "outside 93 % to 97 %: {outside:?}");
}

#[test]
fn intervals_of_ratios_have_nominal_coverage() {
    let (baseline, phase) = (100.0, 40.0);
    for (seed, coefficient) in COEFFICIENTS.into_iter().enumerate() {
        for saw in SAWS {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(1_000 + seed as u64);
            let (mut covered, mut given) = (0, 0);
            for _ in 0..SERIES {
                let mut around = |mean: f64, spread: f64| {
                    let series = series(&mut random, SAMPLES, coefficient, saw);
                    SampleMean::of(&series.into_iter().map(|value| mean + spread * value).collect::<Vec<_>>())
                };
                let (Some(w0), Some(w)) = (around(baseline, 20.0), around(phase, 12.0)) else { continue };
                let Some((low, high)) = ratio_interval(&w, &w0) else { continue };
                given += 1;
                covered += usize::from((low..=high).contains(&(phase / baseline)));
            }
            let share = covered as f64 / given as f64;
            println!("AR {coefficient:.2}, {saw:?}: {given} given, {share:.3} covered");
            assert!(COVERED.contains(&share) && given >= SERIES * 98 / 100, "{coefficient} {saw:?} {share} {given}");
        }
    }
}

/// The shares of the intervals that hold the true value, of means and of ratios of two phases, over runs of `phases` equal
/// phases.
fn coverage_in_runs(samples: usize, phases: usize, coefficient: f64, saw: Saw) -> (f64, f64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2_000);
    let (mut means, mut means_covered, mut ratios, mut ratios_covered) = (0, 0, 0, 0);
    for _ in 0..INTERVALS_IN_RUNS / phases {
        let run: Vec<Vec<f64>> = (0..phases)
            .map(|_| series(&mut random, samples, coefficient, saw).iter().map(|value| 100.0 + value).collect())
            .collect();
        let measured = sample_means(&run.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let measured: Vec<SampleMean> = measured.into_iter().flatten().collect();
        assert_eq!(measured.len(), phases, "every phase of {samples} samples has an interval");
        let holds = |ends: (f64, f64), value: f64| usize::from((ends.0..=ends.1).contains(&value));
        means += phases;
        means_covered += measured.iter().map(|mean| holds(mean.interval().unwrap(), 100.0)).sum::<usize>();
        // Each phase in one ratio only: those to a common phase would all miss together.
        for pair in measured.chunks_exact(2) {
            ratios += 1;
            ratios_covered += holds(ratio_interval(&pair[1], &pair[0]).unwrap(), 1.0);
        }
    }
    (means_covered as f64 / means as f64, ratios_covered as f64 / ratios as f64)
}

const INTERVALS_IN_RUNS: usize = 1_200;

/// Short phases get wide intervals that still cover: too wide at worst, never too narrow. `examples/coverage.rs` measures all
/// 36 noises; these are the extreme ones.
#[test]
fn short_phases_of_a_run_have_intervals_that_cover() {
    let extreme = [COEFFICIENTS[0], COEFFICIENTS[3]]
        .into_iter()
        .flat_map(|coefficient| [SAWS[0], SAWS[6], SAWS[8]].map(|saw| (coefficient, saw)));
    let extreme: Vec<(f64, Saw)> = extreme.collect();
    for (samples, phases) in [(12, 12), (24, 12), (60, 12), (24, 2)] {
        for (coefficient, saw) in &extreme {
            let (means, ratios) = coverage_in_runs(samples, phases, *coefficient, *saw);
            println!("{phases} phases of {samples}, AR {coefficient}, {saw:?}: means {means:.3}, ratios {ratios:.3}");
            assert!(means >= 0.93 && ratios >= 0.93, "{phases} of {samples}, {coefficient} {saw:?}: {means} {ratios}");
        }
    }
}

#[test]
fn two_equal_phases_have_no_significant_pressure() {
    for (seed, coefficient) in COEFFICIENTS.into_iter().enumerate() {
        for saw in SAWS {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(3_000 + seed as u64);
            let mut phase = || {
                series(&mut random, SAMPLES, coefficient, saw)
                    .iter()
                    .map(|value| 100.0 + 5.0 * value)
                    .collect::<Vec<_>>()
            };
            let pressures = (0..SERIES).map(|_| pressure_of(&phase(), &phase(), "ops/s", BetterDirection::Higher));
            let ends: Vec<(f64, f64)> =
                pressures.filter_map(|pressure| pressure.ci_low.zip(pressure.ci_high)).collect();
            let covered = ends.iter().filter(|(low, high)| (*low..=*high).contains(&0.0)).count();
            let share = covered as f64 / ends.len() as f64;
            println!("AR {coefficient:.2}, {saw:?}: {} given, {share:.3} hold 0", ends.len());
            assert!(COVERED.contains(&share) && ends.len() >= SERIES * 98 / 100, "{coefficient} {saw:?} {share}");
        }
    }
}

/// The share of intervals that include 1, for the ratio of two equal sides of `runs` runs each, whose levels differ by
/// `between` standard errors of a single run's mean.
fn coverage_of_repeats(runs: usize, between: f64, pairs: usize) -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(4_000 + runs as u64);
    let side = |random: &mut Xoshiro256PlusPlus| {
        let run_values: Vec<RunValue> = (0..runs)
            .map(|_| {
                let values: Vec<f64> =
                    series(random, 300, 0.5, SAWS[0]).iter().map(|value| 100.0 + 5.0 * value).collect();
                let sample_mean = SampleMean::of(&values).unwrap();
                let level: f64 = StandardNormal.sample(random);
                let noise = BatchNoise::of(&values, &sample_mean).unwrap();
                RunValue { value: sample_mean.mean + between * 0.5 * level, noise: vec![(1.0, noise)] }
            })
            .collect();
        BootstrapMean::of(&run_values, random).unwrap()
    };
    let includes_1 = |_: &usize| {
        let (a, b) = (side(&mut random), side(&mut random));
        bootstrap_ratio(&a, &b).is_some_and(|(low, high)| (low..=high).contains(&1.0))
    };
    (0..pairs).filter(includes_1).count() as f64 / pairs as f64
}

#[test]
fn intervals_over_repeats_have_nominal_coverage() {
    let cases = [(1, 0.0), (2, 0.0), (2, 3.0), (3, 1.0), (5, 0.0), (5, 1.0), (5, 5.0), (10, 1.0)];
    std::thread::scope(|scope| {
        for (runs, between) in cases {
            scope.spawn(move || {
                let share = coverage_of_repeats(runs, between, 500);
                println!("{runs} runs that differ by {between} standard errors: {share:.3} covered");
                // 95 % ± 2 % (two standard errors) of 500 pairs; with two runs on a side intervals may be too wide.
                assert!((0.925..=0.99).contains(&share), "{runs} runs, {between}: {share}");
            });
        }
    });
}
