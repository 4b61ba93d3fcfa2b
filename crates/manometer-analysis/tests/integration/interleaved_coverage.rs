//! The coverage of the intervals over rounds, and the test for carry-over, on hosts whose speed wanders in known ways.
//!
//! A host is a series of 560 samples: twenty rounds of four blocks of seven samples, the first two of which are the washout.

use manometer_analysis::interleaved::carry_over::CarryOver;
use manometer_analysis::interleaved::{Block, RoundTable, pressure_of_rounds};
use manometer_analysis::time_series::TimeWindow;
use manometer_measure::plan::{BetterDirection, InterleavedRounds};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_distr::{Distribution as _, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::synthetic::simulated::{COEFFICIENTS, SAWS, Saw, series};

const ROUNDS: usize = 20;
const PHASES: usize = 4;
const BLOCK: usize = 7;
const WASHOUT: usize = 2;
const SAMPLES: usize = ROUNDS * PHASES * BLOCK;
const RUNS: usize = 1_000;
const IDS: [&str; PHASES] = ["w0", "w1", "w2", "w3"];

/// The rows of a Williams design of four treatments.
const SQUARE: [[usize; PHASES]; PHASES] = [[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]];

/// Orders as the plan draws them: squares with their treatments relabelled at random, and all their rows shuffled.
fn orders(random: &mut Xoshiro256PlusPlus) -> Vec<[usize; PHASES]> {
    let mut orders = Vec::new();
    while orders.len() < ROUNDS {
        let mut labels = [0, 1, 2, 3];
        labels.shuffle(random);
        orders.extend(SQUARE.map(|row| row.map(|treatment| labels[treatment])));
    }
    orders.shuffle(random);
    orders
}

/// How the speed of a host wanders.
#[derive(Debug, Clone, Copy)]
enum Host {
    /// Autocorrelated noise with saw-teeth, of a tenth of its speed.
    Noise(f64, Saw),
    /// A random walk, by so much of its speed from sample to sample.
    Walk(f64),
    /// Its speed halves over the run.
    Slows,
    /// Its speed falls to a third in the middle of the run.
    Steps,
    /// One sample in twenty stalls.
    Stalls,
    /// Some phases vary more from block to block than others: by 2 to 20 %.
    Uneven,
}

fn hosts() -> Vec<Host> {
    let noises = COEFFICIENTS.into_iter().flat_map(|coefficient| SAWS.map(|saw| Host::Noise(coefficient, saw)));
    let walks = [0.01, 0.03].map(Host::Walk);
    noises.chain(walks).chain([Host::Slows, Host::Steps, Host::Stalls, Host::Uneven]).collect()
}

fn speeds(host: Host, random: &mut Xoshiro256PlusPlus) -> Vec<f64> {
    let mut noise = |spread: f64| {
        let noise: f64 = StandardNormal.sample(random);
        (spread * noise).exp()
    };
    let at = |index: usize| index as f64 / SAMPLES as f64;
    match host {
        Host::Noise(coefficient, saw) => {
            series(random, SAMPLES, coefficient, saw).into_iter().map(|value| 1_000.0 * (0.1 * value).exp()).collect()
        }
        Host::Walk(step) => {
            let mut speed = 1_000.0;
            (0..SAMPLES)
                .map(|_| {
                    speed *= noise(step);
                    speed * noise(0.05)
                })
                .collect()
        }
        Host::Slows => (0..SAMPLES).map(|index| 1_000.0 * (1.0 - 0.5 * at(index)) * noise(0.05)).collect(),
        Host::Steps => (0..SAMPLES).map(|index| if at(index) < 0.5 { 1_000.0 } else { 333.0 } * noise(0.05)).collect(),
        Host::Stalls => (0..SAMPLES).map(|_| if noise(1.0) > 5.18 { 50.0 } else { 1_000.0 * noise(0.05) }).collect(),
        Host::Uneven => (0..SAMPLES).map(|_| 1_000.0 * noise(0.05)).collect(),
    }
}

/// The blocks of a run on `host`, whose phases keep `keeps` of its speed, and whose blocks after each phase `after`.
fn run(
    host: Host,
    keeps: [f64; PHASES],
    after: [f64; PHASES],
    random: &mut Xoshiro256PlusPlus,
) -> (InterleavedRounds, Vec<Vec<Block>>) {
    let orders = orders(random);
    let speeds = speeds(host, random);
    let mut blocks = vec![Vec::new(); PHASES];
    let mut before = 0;
    for (place, phase) in orders.iter().flatten().enumerate() {
        let measured = &speeds[place * BLOCK + WASHOUT..(place + 1) * BLOCK];
        let mut mean = measured.iter().sum::<f64>() / measured.len() as f64 * keeps[*phase] * after[before];
        if let Host::Uneven = host {
            let noise: f64 = StandardNormal.sample(random);
            mean *= 1.0 + [0.02, 0.05, 0.10, 0.20][*phase] * noise;
        }
        let window = TimeWindow { begin_ns: place as u64, end_ns: place as u64 + 1 };
        blocks[*phase].push(Block { round: (place / PHASES) as u32 + 1, window, mean: Some(mean) });
        before = *phase;
    }
    let ids = |order: &[usize; PHASES]| order.map(|phase| IDS[phase].to_owned()).to_vec();
    let orders = orders.iter().map(ids).collect();
    (InterleavedRounds { rounds: ROUNDS as u32, block_s: 1.4, washout_s: 0.4, orders }, blocks)
}

/// The share of runs on `host` whose three intervals hold the true pressures, counted one by one.
fn coverage(host: Host, keeps: [f64; PHASES], seed: u64) -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut held = 0;
    for _ in 0..RUNS {
        let (_, blocks) = run(host, keeps, [1.0; PHASES], &mut random);
        for phase in 1..PHASES {
            let pairs = blocks[0].iter().zip(&blocks[phase]);
            let pairs: Vec<(f64, f64)> = pairs.map(|(one, other)| (one.mean.unwrap(), other.mean.unwrap())).collect();
            let pressure = pressure_of_rounds(&pairs, BetterDirection::Higher);
            let truth = 1.0 - keeps[phase] / keeps[0];
            held += usize::from(pressure.ci_low.unwrap() <= truth && truth <= pressure.ci_high.unwrap());
        }
    }
    held as f64 / (RUNS * (PHASES - 1)) as f64
}

#[test]
fn intervals_over_rounds_have_nominal_coverage_on_every_host() {
    let mut outside = Vec::new();
    for (seed, host) in hosts().into_iter().enumerate() {
        let seed = seed as u64;
        let shares = [coverage(host, [1.0; PHASES], seed), coverage(host, [1.0, 0.8, 0.4, 0.15], 1_000 + seed)];
        println!("{host:?}: {shares:.3?} covered, alike and unlike");
        if !shares.iter().all(|share| (0.93..=0.985).contains(share)) {
            outside.push((host, shares));
        }
    }
    assert!(outside.is_empty(), "{outside:?}");
}

/// The share of runs on `host` in which carry-over is significant.
fn carry_over_share(host: Host, after: [f64; PHASES], seed: u64) -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut significant = 0;
    for _ in 0..RUNS {
        let (rounds, blocks) = run(host, [1.0, 0.8, 0.4, 0.15], after, &mut random);
        let phases: Vec<(&str, &[Block])> = IDS.into_iter().zip(blocks.iter().map(Vec::as_slice)).collect();
        significant += usize::from(CarryOver::of(&RoundTable::new(&rounds, &phases)).unwrap().p_value <= 0.05);
    }
    significant as f64 / RUNS as f64
}

#[test]
fn carry_over_is_found_by_chance_as_often_as_it_should_be_and_mostly_where_there_is() {
    let mut outside = Vec::new();
    let mut sum = 0.0;
    for (seed, host) in hosts().into_iter().enumerate() {
        let share = carry_over_share(host, [1.0; PHASES], 2_000 + seed as u64);
        println!("{host:?}: {share:.3} significant without carry-over");
        sum += share / hosts().len() as f64;
        // Three standard errors of a thousand runs are 2 %.
        if share > 0.07 {
            outside.push((host, share));
        }
    }
    println!("{sum:.4} on average");
    assert!(outside.is_empty(), "{outside:?}");
    assert!((0.04..=0.06).contains(&sum), "{sum}");
    let share = carry_over_share(Host::Walk(0.03), [1.0, 1.0, 0.95, 0.85], 3_000);
    println!("{share:.3} significant with a carry-over of 15 %");
    assert!(share > 0.8, "{share}");
}
