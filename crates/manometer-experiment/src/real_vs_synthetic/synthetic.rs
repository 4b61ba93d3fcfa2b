//! Synthetic loads with as many keys as the trace requests: its operations in its order, with newly drawn keys.

use std::collections::HashSet;

use manometer_analysis::real_vs_synthetic as results;
use manometer_trace::key::IdHasher;
use manometer_workload::kv::distribution::{Latest, Random, ScatteredZipf, Uniform, stream};

use super::recorded_trace::{Key, RecordedTrace};

/// The sum over ranks is exact up to this rank.
const EXACT_RANKS: u64 = 1024;
/// Further ranks are summed in groups of this fraction of the rank.
const GROUP_DIVISOR: u64 = 64;
/// The maximum size of the key space, in multiples of the number of requested keys.
const KEY_SPACE_MAX: u64 = 1024;

/// The distribution from which keys are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum SyntheticKeys {
    /// A Zipf distribution with this exponent, fitted to the popularity of all keys.
    Zipf(f64),
    /// A Zipf distribution with this exponent, fitted to the miss-ratio curve.
    ZipfCurve(f64),
    /// A uniform distribution.
    Uniform,
    /// A Zipf distribution over the age of keys. New keys appear where the trace has new ones.
    Latest(f64),
}

impl SyntheticKeys {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Zipf(_) => results::ZIPF,
            Self::ZipfCurve(_) => results::ZIPF_CURVE,
            Self::Uniform => results::UNIFORM,
            Self::Latest(_) => results::LATEST,
        }
    }

    pub(super) fn exponent(self) -> Option<f64> {
        match self {
            Self::Zipf(exponent) | Self::ZipfCurve(exponent) | Self::Latest(exponent) => Some(exponent),
            Self::Uniform => None,
        }
    }
}

/// The keys of a synthetic load, request by request.
#[derive(Debug)]
pub(super) struct SyntheticLoad {
    /// The drawn keys, each a number below `drawn_from`.
    pub(super) picks: Vec<u32>,
    /// The size of the key space.
    pub(super) drawn_from: u64,
    /// The number of keys that are requested.
    pub(super) keys: u64,
}

/// Draws a key for every request of `recorded`.
pub(super) fn draw(distribution: SyntheticKeys, recorded: &RecordedTrace, seed: u64) -> SyntheticLoad {
    let mut random = stream(seed, 0);
    let (target, requests) = (recorded.keys.len() as u64, recorded.requests.len() as u64);
    // A fitted exponent may be 0, which the generators do not accept.
    let positive = |exponent: f64| exponent.max(f64::MIN_POSITIVE);
    let (picks, drawn_from) = match distribution {
        SyntheticKeys::Zipf(exponent) | SyntheticKeys::ZipfCurve(exponent) => {
            let from = records_for(target, exponent, requests);
            let zipf = ScatteredZipf::new(from, positive(exponent), seed);
            ((0..requests).map(|_| zipf.draw(&mut random) as u32).collect(), from)
        }
        SyntheticKeys::Uniform => {
            let from = records_for(target, 0.0, requests);
            let uniform = Uniform::new(from);
            ((0..requests).map(|_| uniform.draw(&mut random) as u32).collect(), from)
        }
        SyntheticKeys::Latest(exponent) => (draw_latest(positive(exponent), recorded, &mut random), target),
    };
    let keys = picks.iter().map(|pick| u64::from(*pick)).collect::<HashSet<u64, IdHasher>>().len() as u64;
    SyntheticLoad { picks, drawn_from, keys }
}

/// Draws a new key where the trace has a new one, else an existing one, the newest most often.
fn draw_latest(exponent: f64, recorded: &RecordedTrace, random: &mut Random) -> Vec<u32> {
    let mut latest = Latest::new(1, exponent);
    let mut count = 0_u32;
    let mut next = |is_new: bool| {
        if is_new {
            count += 1;
            return count - 1;
        }
        latest.draw(u64::from(count), random) as u32
    };
    // Keys are numbered in order of appearance: a new key has the next number.
    let mut known = 0;
    let mut pick = |key: u32| {
        let is_new = key == known;
        known += u32::from(is_new);
        next(is_new)
    };
    recorded.requests.iter().map(|request| pick(request.key)).collect()
}

/// The size of the key space from which `requests` draws request `target` keys on average.
fn records_for(target: u64, exponent: f64, requests: u64) -> u64 {
    let max = target.saturating_mul(KEY_SPACE_MAX).min(u64::from(u32::MAX));
    let (mut low, mut high) = (target, max);
    while low < high {
        let middle = low + (high - low) / 2;
        if expected_keys(middle, exponent, requests) >= target as f64 { high = middle } else { low = middle + 1 }
    }
    low
}

/// The number of `records` that `requests` draws request on average.
fn expected_keys(records: u64, exponent: f64, requests: u64) -> f64 {
    let weight = sum_over_ranks(records, |rank| rank.powf(-exponent));
    sum_over_ranks(records, |rank| {
        let share = rank.powf(-exponent) / weight;
        -(requests as f64 * (-share).ln_1p()).exp_m1()
    })
}

/// The sum of `of` over the ranks from 1 to `records`. High ranks are summed in groups, at their middles.
fn sum_over_ranks(records: u64, of: impl Fn(f64) -> f64) -> f64 {
    let mut sum = 0.0;
    let mut rank = 1;
    while rank <= records {
        let length = if rank <= EXACT_RANKS { 1 } else { (rank / GROUP_DIVISOR).min(records - rank + 1) };
        sum += length as f64 * of(rank as f64 + (length as f64 - 1.0) / 2.0);
        rank += length;
    }
    sum
}

/// The key for `pick` of a synthetic load, with the sizes of a key of the trace.
pub(super) fn key_of(pick: u32, recorded: &RecordedTrace) -> Key {
    let like = &recorded.keys[pick as usize % recorded.keys.len()];
    Key { id: rapidhash::v3::rapidhash_v3(&pick.to_le_bytes()), ..*like }
}

#[cfg(test)]
mod tests {
    use manometer_trace::TraceOperation;

    use super::super::recorded_trace::KeyRequest;
    use super::*;

    /// A trace of two thousand keys, each requested ten times in a row.
    fn recorded() -> RecordedTrace {
        let key = |id| Key { id, key_bytes: 11, value_bytes: id };
        let requests =
            (0..20_000).map(|number| KeyRequest { key: number / 10, operation: TraceOperation::Get }).collect();
        RecordedTrace { keys: (0..2000).map(key).collect(), requests, times_ns: None, resized: 0, damage: Vec::new() }
    }

    #[test]
    fn loads_request_as_many_keys_as_the_trace() {
        for distribution in
            [SyntheticKeys::Zipf(0.9), SyntheticKeys::Zipf(0.5), SyntheticKeys::Zipf(0.0), SyntheticKeys::Uniform]
        {
            let drawn = draw(distribution, &recorded(), 7);
            assert!(drawn.keys.abs_diff(2000) < 60, "{distribution:?}: {}", drawn.keys);
            assert_eq!(drawn.picks.len(), 20_000);
            assert!(drawn.picks.iter().all(|pick| u64::from(*pick) < drawn.drawn_from));
        }
        let latest = draw(SyntheticKeys::Latest(0.9), &recorded(), 7);
        assert_eq!((latest.keys, latest.drawn_from), (2000, 2000));
    }

    #[test]
    fn a_steep_distribution_requests_fewer_keys() {
        let drawn = draw(SyntheticKeys::Zipf(3.0), &recorded(), 7);
        assert_eq!(drawn.drawn_from, 2000 * KEY_SPACE_MAX);
        assert!(drawn.keys < 200, "{}", drawn.keys);
    }

    #[test]
    fn the_expected_number_of_keys_is_that_of_the_exact_sum() {
        for (records, exponent) in [(50_000_u64, 0.8), (50_000, 1.2), (3000, 0.0)] {
            let weight: f64 = (1..=records).map(|rank| (rank as f64).powf(-exponent)).sum();
            let exact: f64 =
                (1..=records).map(|rank| 1.0 - (1.0 - (rank as f64).powf(-exponent) / weight).powf(40_000.0)).sum();
            let fast = expected_keys(records, exponent, 40_000);
            assert!((fast / exact - 1.0).abs() < 1e-3, "{records} {exponent}: {fast} {exact}");
        }
    }

    #[test]
    fn new_keys_appear_with_those_of_the_trace() {
        let picks = draw(SyntheticKeys::Latest(0.99), &recorded(), 1).picks;
        for (number, pick) in picks.iter().enumerate() {
            let count = number as u32 / 10 + 1;
            assert!(*pick < count && (number % 10 > 0 || *pick == count - 1), "{number}: {pick}");
        }
    }

    #[test]
    fn keys_of_synthetic_loads_have_the_sizes_of_the_trace() {
        let recorded = recorded();
        assert_eq!(key_of(2003, &recorded).value_bytes, 3);
        assert!(key_of(1, &recorded).id != key_of(2001, &recorded).id);
    }
}
