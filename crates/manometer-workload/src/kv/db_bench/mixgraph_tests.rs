use rand_xoshiro::rand_core::Rng as _;
use statrs::distribution::{ChiSquared, ContinuousCDF as _};

use super::super::length_distribution::LengthDistribution;
use super::*;
use crate::kv::distribution::{Uniform, stream};

const SEEDS: [u64; 3] = [1, 42, 20_260_101];
/// The parameters of db_bench's own example of a model fitted to a store, over 50 million records.
const RECORDS: u64 = 50_000_000;
const SHARES: [f64; 4] = [14.18, -2.917, 0.0164, -0.08082];
const POWER: PowerLaw = PowerLaw { a: 0.002_312, b: 0.3467 };
const VALUES: Pareto = Pareto { theta: 0.0, k: 0.2615, sigma: 25.45 };
const SCANS: Pareto = Pareto { theta: 0.0, k: 2.517, sigma: 14.236 };

fn mix(keys: MixGraphKeys, below: [u64; 3]) -> MixGraph {
    MixGraph { records: RECORDS, below, keys, values: VALUES, value_max: 1024, scans: SCANS, scan_max: 10_000 }
}

fn chi_square_p(counts: &[u64], shares: &[f64]) -> f64 {
    let draws: u64 = counts.iter().sum();
    let terms = counts.iter().zip(shares).map(|(count, share)| {
        let expected = share * draws as f64;
        (*count as f64 - expected).powi(2) / expected
    });
    ChiSquared::new(shares.len() as f64 - 1.0).unwrap().sf(terms.sum())
}

/// All numbers here come from an independent computation of db_bench's formulas.
#[test]
fn ranges_and_keys_are_db_benchs() {
    let small = KeyRanges::new(1000, 5, SHARES).unwrap();
    assert_eq!((small.starts.as_slice(), small.places, small.records_each), ([0, 71, 72, 73, 74].as_slice(), 79, 200));
    let ranges = KeyRanges::new(RECORDS, 30, SHARES).unwrap();
    assert_eq!(ranges.starts[..12], [0, 1, 3, 6, 7, 8, 9, 10, 17, 19, 29, 30]);
    assert_eq!((ranges.places, ranges.records_each), (667, 1_666_666));
    let keys = [0, 1, 12_345, 999_999, 49_999_999].map(|draw| ranges.record(draw, POWER));
    assert_eq!(keys, [1_215_496, 1_982_480, 48_858_221, 49_210_660, 48_649_128]);
}

#[test]
fn keys_by_the_power_law_alone_are_db_benchs() {
    let mix = mix(MixGraphKeys::PowerLaw(POWER), below([1.0, 0.0, 0.0]));
    let keys = [0, 1, 7, 12_345, 999_999, 49_999_999].map(|draw| mix.record(draw) as i64);
    assert_eq!(keys, [22_165_694, 46_311_528, 46_311_528, 46_311_528, 6_048_380, -23_772_406]);
}

#[test]
fn types_come_in_their_ratios() {
    assert_eq!(below([0.85, 0.14, 0.01]), [850, 990, 1000]);
    assert_eq!(below([1.0, 1.0, 1.0]), [334, 668, 1002]);
    let mix = mix(MixGraphKeys::Random, below([0.83, 0.14, 0.03]));
    for seed in SEEDS {
        let (mut random, uniform, mut counts) = (stream(seed, 0), Uniform::new(RECORDS), [0; 3]);
        for _ in 0..200_000 {
            let operation = mix.request(uniform.draw(&mut random)).operation;
            let types = [KvOperation::Read, KvOperation::Update, KvOperation::Scan];
            counts[types.iter().position(|kind| *kind == operation).unwrap()] += 1;
        }
        let p = chi_square_p(&counts, &[0.83, 0.14, 0.03]);
        assert!(p > 0.001, "seed {seed}: p = {p}");
    }
}

#[test]
fn ranges_are_as_hot_as_their_shares() {
    let ranges = KeyRanges::new(RECORDS, 30, SHARES).unwrap();
    let ends = ranges.starts.iter().skip(1).chain([&ranges.places]);
    let shares: Vec<f64> =
        ranges.starts.iter().zip(ends).map(|(start, end)| (end - start) as f64 / ranges.places as f64).collect();
    for seed in SEEDS {
        let (mut random, uniform, mut counts) = (stream(seed, 0), Uniform::new(RECORDS), vec![0; 30]);
        for _ in 0..100_000 {
            counts[(ranges.record(uniform.draw(&mut random), POWER) / ranges.records_each) as usize] += 1;
        }
        let p = chi_square_p(&counts, &shares);
        assert!(p > 0.001, "seed {seed}: p = {p}");
    }
    // The hottest of the shares that the model wants, before they are rounded to places.
    let model: Vec<f64> =
        (1..=30).map(|x| 14.18 * (-2.917 * f64::from(x)).exp() + 0.0164 * (-0.08082 * f64::from(x)).exp()).collect();
    let hottest = model[0] / model.iter().sum::<f64>();
    let widest = shares.iter().copied().fold(0.0, f64::max);
    assert!((widest - hottest).abs() < 0.02, "{widest} of {hottest}");
}

/// The distribution function of the generalised Pareto distribution at whole bytes, from 10 on.
fn up_to(bytes: f64) -> f64 {
    1.0 - (1.0 + VALUES.k * bytes / VALUES.sigma).powf(-1.0 / VALUES.k)
}

#[test]
fn value_lengths_follow_the_closed_form() {
    let edges = [10.0, 15.0, 20.0, 30.0, 45.0, 70.0, 100.0, 150.0, 250.0, 400.0, 1_000_000.0];
    let mut shares = vec![up_to(edges[0])];
    shares.extend(edges.windows(2).map(|pair| up_to(pair[1]) - up_to(pair[0])));
    let spread = LengthDistribution::Pareto { of: VALUES, max: 1_000_000 };
    for seed in SEEDS {
        let (mut random, mut counts) = (stream(seed, 0), vec![0; edges.len()]);
        for _ in 0..200_000 {
            let bytes = spread.draw(&mut random) as f64;
            counts[edges.partition_point(|edge| *edge < bytes)] += 1;
        }
        let p = chi_square_p(&counts, &shares);
        assert!(p > 0.001, "seed {seed}: p = {p}");
    }
}

#[test]
fn scans_are_db_benchs_and_one_record_is_always_sought() {
    let mix = mix(MixGraphKeys::Random, below([0.0, 0.0, 1.0]));
    let request = |u: f64| mix.request((u * RECORDS as f64) as u64);
    assert_eq!([0.9, 0.5, 0.1, 0.01].map(|u| request(u).length), [3, 28, 1856, 1648]);
    // db_bench's overflow: a scan that takes nothing.
    assert_eq!(request(0.0).length, 1);
    assert!(request(0.5).operation == KvOperation::Scan && request(0.5).record == RECORDS / 2);
}

#[test]
fn values_of_a_request_are_db_benchs() {
    let mix = mix(MixGraphKeys::Random, below([0.0, 1.0, 0.0]));
    let bytes = [0.9, 0.5, 0.1, 0.01, 1e-6].map(|u| mix.request((u * RECORDS as f64) as u64).value_bytes);
    assert_eq!(bytes, [10, 20, 81, 228, 3511 % 1024].map(Some));
}

#[test]
fn uniform_and_normal_lengths_have_their_middle_and_their_ends() {
    let mut random = stream(7, 0);
    for (spread, deviation) in [
        (LengthDistribution::Uniform { min: 100, max: 400 }, 301.0 / 12.0_f64.sqrt()),
        (LengthDistribution::Normal { min: 100, max: 400 }, 50.0),
    ] {
        let lengths: Vec<f64> = (0..40_000).map(|_| spread.draw(&mut random) as f64).collect();
        let mean = lengths.iter().sum::<f64>() / 40_000.0;
        let variance = lengths.iter().map(|length| (length - mean).powi(2)).sum::<f64>() / 40_000.0;
        assert!((mean - spread.mean()).abs() < 2.0, "{spread:?}: mean {mean}");
        assert!((variance.sqrt() / deviation - 1.0).abs() < 0.03, "{spread:?}: deviation {}", variance.sqrt());
        assert!(lengths.iter().all(|length| (100.0..=400.0).contains(length)));
    }
    let all: std::collections::BTreeSet<usize> =
        (0..1000).map(|_| LengthDistribution::Uniform { min: 3, max: 6 }.draw(&mut random)).collect();
    assert_eq!(all.into_iter().collect::<Vec<_>>(), [3, 4, 5, 6]);
    let pareto = LengthDistribution::Pareto { of: VALUES, max: 1024 };
    let sum: usize = (0..200_000).map(|_| pareto.draw(&mut random)).sum();
    assert!(
        (sum as f64 / 200_000.0 / pareto.mean() - 1.0).abs() < 0.02,
        "{} of {}",
        sum as f64 / 200_000.0,
        pareto.mean()
    );
    assert!(random.next_u64() > 0);
}
