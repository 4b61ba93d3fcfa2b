//! What the 95 % intervals cover, measured on series whose truth is known.
//!
//! The series are those of `simulated`.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

#[path = "synthetic/simulated.rs"]
mod simulated;

use manometer_analysis::pressure::pressure_of;
use manometer_analysis::statistics::Measured;
use manometer_analysis::statistics::autocorrelation::{autocorrelation, autocorrelation_time};
use manometer_analysis::statistics::bootstrap::{Noise, Side, Unit, ratio_interval as bootstrap_ratio};
use manometer_analysis::statistics::fieller::ratio_interval;
use manometer_measure::plan::Better;
use rand::SeedableRng as _;
use rand_distr::{Distribution as _, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use simulated::{COEFFICIENTS, SAWS, series};

const SERIES: usize = 1_000;
const SAMPLES: usize = 600;
const COVERED: std::ops::RangeInclusive<f64> = 0.93..=0.97;

#[test]
fn the_intervals_of_means_cover_what_they_say() {
    let mut outside = Vec::new();
    for (seed, coefficient) in COEFFICIENTS.into_iter().enumerate() {
        for saw in SAWS {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed as u64);
            let (mut covered, mut given, mut first_lag, mut time) = (0, 0, 0.0, 0.0);
            for _ in 0..SERIES {
                let series = series(&mut random, SAMPLES, coefficient, saw);
                first_lag += autocorrelation(&series, 1) / SERIES as f64;
                time += autocorrelation_time(&series) / SERIES as f64;
                let Some((low, high)) = Measured::of(&series).and_then(|measured| measured.interval()) else {
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
fn the_intervals_of_ratios_cover_what_they_say() {
    let (alone, beside) = (100.0, 40.0);
    for (seed, coefficient) in COEFFICIENTS.into_iter().enumerate() {
        for saw in SAWS {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(1_000 + seed as u64);
            let (mut covered, mut given) = (0, 0);
            for _ in 0..SERIES {
                let mut around = |mean: f64, spread: f64| {
                    let series = series(&mut random, SAMPLES, coefficient, saw);
                    Measured::of(&series.into_iter().map(|value| mean + spread * value).collect::<Vec<_>>())
                };
                let (Some(w0), Some(w)) = (around(alone, 20.0), around(beside, 12.0)) else { continue };
                let Some((low, high)) = ratio_interval(&w, &w0) else { continue };
                given += 1;
                covered += usize::from((low..=high).contains(&(beside / alone)));
            }
            let share = covered as f64 / given as f64;
            println!("AR {coefficient:.2}, {saw:?}: {given} given, {share:.3} covered");
            assert!(COVERED.contains(&share) && given >= SERIES * 98 / 100, "{coefficient} {saw:?} {share} {given}");
        }
    }
}

#[test]
fn short_series_that_remember_long_seldom_have_an_interval() {
    // How many may: those that remembered too little by chance. `docs/analysis.md` says what becomes of these.
    for (samples, coefficient, most) in [(24, 0.8, 10), (60, 0.8, 20), (60, 0.87, 10), (120, 0.8, 150), (120, 0.87, 30)]
    {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(2_000);
        let (mut given, mut missed) = (0, 0);
        for _ in 0..SERIES {
            let measured = Measured::of(&series(&mut random, samples, coefficient, SAWS[0]));
            let Some((low, high)) = measured.and_then(|measured| measured.interval()) else { continue };
            given += 1;
            missed += usize::from(!(low..=high).contains(&0.0));
        }
        println!("{samples} samples, AR {coefficient}: {given} given an interval, {missed} of these miss");
        assert!(given <= most, "{samples} {coefficient}: {given} given");
    }
}

#[test]
fn the_same_phase_twice_has_a_pressure_of_nothing() {
    for (seed, coefficient) in COEFFICIENTS.into_iter().enumerate() {
        for saw in SAWS {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(3_000 + seed as u64);
            let mut phase = || {
                series(&mut random, SAMPLES, coefficient, saw)
                    .iter()
                    .map(|value| 100.0 + 5.0 * value)
                    .collect::<Vec<_>>()
            };
            let pressures = (0..SERIES).map(|_| pressure_of(&phase(), &phase(), "ops/s", Better::Higher));
            let ends: Vec<(f64, f64)> =
                pressures.filter_map(|pressure| pressure.ci_low.zip(pressure.ci_high)).collect();
            let covered = ends.iter().filter(|(low, high)| (*low..=*high).contains(&0.0)).count();
            let share = covered as f64 / ends.len() as f64;
            println!("AR {coefficient:.2}, {saw:?}: {} given, {share:.3} hold 0", ends.len());
            assert!(COVERED.contains(&share) && ends.len() >= SERIES * 98 / 100, "{coefficient} {saw:?} {share}");
        }
    }
}

/// How often the interval of the ratio of two like sides holds 1: each of `runs` runs, whose levels differ by
/// `between` standard errors of a single run's mean.
fn repeats_cover(runs: usize, between: f64, pairs: usize) -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(4_000 + runs as u64);
    let side = |random: &mut Xoshiro256PlusPlus| {
        let units: Vec<Unit> = (0..runs)
            .map(|_| {
                let values: Vec<f64> =
                    series(random, 200, 0.5, SAWS[0]).iter().map(|value| 100.0 + 5.0 * value).collect();
                let measured = Measured::of(&values).unwrap();
                let level: f64 = StandardNormal.sample(random);
                let noise = Noise::of(&values, &measured).unwrap();
                Unit { value: measured.mean + between * 0.6 * level, noise: vec![(1.0, noise)] }
            })
            .collect();
        Side::of(&units, random).unwrap()
    };
    let holds = |_: &usize| {
        let (a, b) = (side(&mut random), side(&mut random));
        bootstrap_ratio(&a, &b).is_some_and(|(low, high)| (low..=high).contains(&1.0))
    };
    (0..pairs).filter(holds).count() as f64 / pairs as f64
}

#[test]
fn the_intervals_over_repeats_cover_what_they_say() {
    let pairs = 500;
    for (runs, between) in [(1, 0.0), (2, 0.0), (2, 3.0), (3, 1.0), (5, 0.0), (5, 1.0), (5, 5.0), (10, 1.0)] {
        let share = repeats_cover(runs, between, pairs);
        println!("{runs} runs that differ by {between} standard errors: {share:.3} covered");
        // Of 500 pairs 95 % ± 2 % (two standard errors); two runs a side cannot promise more than too much.
        assert!((0.925..=0.99).contains(&share), "{runs} runs, {between}: {share}");
    }
}
