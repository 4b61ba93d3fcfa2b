//! Synthetic loads of as many keys as the trace asks for: its operations in its order, with keys drawn anew.

use std::collections::HashSet;

use manometer_trace::key::IdHasher;
use manometer_workload::kv::distribution::{Latest, Random, ScatteredZipf, Uniform, stream};

use super::recorded::{Key, Recorded};

/// Ranks up to here are added up one by one.
const EXACT_RANKS: u64 = 1024;
/// Those behind in stretches of this part of their ranks.
const STRETCH: u64 = 64;
/// How many times more keys are drawn from at most than are to be asked for.
const DRAWN_FROM_MAX: u64 = 1024;

/// How keys are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Law {
    /// Zipf's law with this exponent.
    Zipf(f64),
    /// Every key alike.
    Uniform,
    /// Zipf's law over age: new keys come where the trace has new ones.
    Latest(f64),
}

impl Law {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Zipf(_) => manometer_analysis::real_vs_synthetic::ZIPF,
            Self::Uniform => "uniform",
            Self::Latest(_) => "latest",
        }
    }

    pub(super) fn exponent(self) -> Option<f64> {
        match self {
            Self::Zipf(exponent) | Self::Latest(exponent) => Some(exponent),
            Self::Uniform => None,
        }
    }
}

/// The keys of a synthetic load, request by request.
#[derive(Debug)]
pub(super) struct Synthetic {
    /// Each a number below `drawn_from`.
    pub(super) picks: Vec<u32>,
    /// How many keys it is drawn from.
    pub(super) drawn_from: u64,
    /// How many of them it asks for.
    pub(super) keys: u64,
}

/// Draws the keys of as many requests as `recorded` has.
pub(super) fn draw(law: Law, recorded: &Recorded, seed: u64) -> Synthetic {
    let mut random = stream(seed, 0);
    let (wanted, requests) = (recorded.keys.len() as u64, recorded.requests.len() as u64);
    // The smallest exponent stands for none: a fit may find that keys in order of their requests do not fall.
    let above_none = |exponent: f64| exponent.max(f64::MIN_POSITIVE);
    let (picks, drawn_from) = match law {
        Law::Zipf(exponent) => {
            let from = records_for(wanted, exponent, requests);
            let zipf = ScatteredZipf::new(from, above_none(exponent), seed);
            ((0..requests).map(|_| zipf.draw(&mut random) as u32).collect(), from)
        }
        Law::Uniform => {
            let from = records_for(wanted, 0.0, requests);
            let uniform = Uniform::new(from);
            ((0..requests).map(|_| uniform.draw(&mut random) as u32).collect(), from)
        }
        Law::Latest(exponent) => (latest(above_none(exponent), recorded, &mut random), wanted),
    };
    let keys = picks.iter().map(|pick| u64::from(*pick)).collect::<HashSet<u64, IdHasher>>().len() as u64;
    Synthetic { picks, drawn_from, keys }
}

/// A new key where the trace has a new one, else one of those that are there, the newest most often.
fn latest(exponent: f64, recorded: &Recorded, random: &mut Random) -> Vec<u32> {
    let mut latest = Latest::new(1, exponent);
    let mut there = 0_u32;
    let mut next = |is_new: bool| {
        if is_new {
            there += 1;
            return there - 1;
        }
        latest.draw(u64::from(there), random) as u32
    };
    // Keys are numbered as they come: the one that is new has the next number.
    let mut known = 0;
    let mut pick = |key: u32| {
        let is_new = key == known;
        known += u32::from(is_new);
        next(is_new)
    };
    recorded.requests.iter().map(|request| pick(request.key)).collect()
}

/// From how many records `requests` requests must be drawn so that `wanted` of them are asked for, on average.
fn records_for(wanted: u64, exponent: f64, requests: u64) -> u64 {
    let most = wanted.saturating_mul(DRAWN_FROM_MAX).min(u64::from(u32::MAX));
    let (mut low, mut high) = (wanted, most);
    while low < high {
        let middle = low + (high - low) / 2;
        if asked_for(middle, exponent, requests) >= wanted as f64 { high = middle } else { low = middle + 1 }
    }
    low
}

/// How many of `records` are asked for by `requests` requests, on average.
fn asked_for(records: u64, exponent: f64, requests: u64) -> f64 {
    let weight = add_up(records, |rank| rank.powf(-exponent));
    add_up(records, |rank| {
        let share = rank.powf(-exponent) / weight;
        -(requests as f64 * (-share).ln_1p()).exp_m1()
    })
}

/// The sum of `of` over the ranks from 1 to `records`; those far behind in stretches, at their middles.
fn add_up(records: u64, of: impl Fn(f64) -> f64) -> f64 {
    let mut sum = 0.0;
    let mut rank = 1;
    while rank <= records {
        let length = if rank <= EXACT_RANKS { 1 } else { (rank / STRETCH).min(records - rank + 1) };
        sum += length as f64 * of(rank as f64 + (length as f64 - 1.0) / 2.0);
        rank += length;
    }
    sum
}

/// The key that pick `pick` of a synthetic load is, with the sizes of one of the trace's keys.
pub(super) fn key_of(pick: u32, recorded: &Recorded) -> Key {
    let like = &recorded.keys[pick as usize % recorded.keys.len()];
    Key { id: rapidhash::v3::rapidhash_v3(&pick.to_le_bytes()), ..*like }
}

#[cfg(test)]
mod tests {
    use manometer_trace::Operation;

    use super::super::recorded::Request;
    use super::*;

    /// Two thousand keys that come one by one, each asked for some more times at once.
    fn recorded() -> Recorded {
        let key = |id| Key { id, key_bytes: 11, value_bytes: id };
        let requests = (0..20_000).map(|number| Request { key: number / 10, operation: Operation::Get }).collect();
        Recorded { keys: (0..2000).map(key).collect(), requests, notes: Vec::new() }
    }

    #[test]
    fn as_many_keys_are_asked_for_as_the_trace_has() {
        for law in [Law::Zipf(0.9), Law::Zipf(0.5), Law::Zipf(0.0), Law::Uniform] {
            let drawn = draw(law, &recorded(), 7);
            assert!(drawn.keys.abs_diff(2000) < 60, "{law:?}: {}", drawn.keys);
            assert_eq!(drawn.picks.len(), 20_000);
            assert!(drawn.picks.iter().all(|pick| u64::from(*pick) < drawn.drawn_from));
        }
        let latest = draw(Law::Latest(0.9), &recorded(), 7);
        assert_eq!((latest.keys, latest.drawn_from), (2000, 2000));
    }

    #[test]
    fn a_steep_law_cannot_ask_for_all() {
        let drawn = draw(Law::Zipf(3.0), &recorded(), 7);
        assert_eq!(drawn.drawn_from, 2000 * DRAWN_FROM_MAX);
        assert!(drawn.keys < 200, "{}", drawn.keys);
    }

    #[test]
    fn the_expected_number_of_keys_is_that_of_the_sum_rank_by_rank() {
        for (records, exponent) in [(50_000_u64, 0.8), (50_000, 1.2), (3000, 0.0)] {
            let weight: f64 = (1..=records).map(|rank| (rank as f64).powf(-exponent)).sum();
            let exact: f64 =
                (1..=records).map(|rank| 1.0 - (1.0 - (rank as f64).powf(-exponent) / weight).powf(40_000.0)).sum();
            let fast = asked_for(records, exponent, 40_000);
            assert!((fast / exact - 1.0).abs() < 1e-3, "{records} {exponent}: {fast} {exact}");
        }
    }

    #[test]
    fn newest_keys_come_with_those_of_the_trace() {
        let picks = draw(Law::Latest(0.99), &recorded(), 1).picks;
        for (number, pick) in picks.iter().enumerate() {
            let there = number as u32 / 10 + 1;
            assert!(*pick < there && (number % 10 > 0 || *pick == there - 1), "{number}: {pick}");
        }
    }

    #[test]
    fn keys_of_synthetic_loads_have_sizes_of_the_traces() {
        let recorded = recorded();
        assert_eq!(key_of(2003, &recorded).value_bytes, 3);
        assert!(key_of(1, &recorded).id != key_of(2001, &recorded).id);
    }
}
