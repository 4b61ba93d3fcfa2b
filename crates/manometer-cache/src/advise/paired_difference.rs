//! The difference of the misses of two caches on the same requests, with its interval.
//!
//! The difference itself is exact if all keys were simulated. The interval says how much of it other traffic of the same
//! kind would show. The misses are counted in blocks of time and in groups of keys, the difference is taken in each, and
//! the variance of the ratio of sums (linearised) is estimated from the blocks and from the groups. Both are added: the
//! sum is never below that of Cameron, Gelbach and Miller (2011), who subtract what they have in common.
//!
//! A block holds at least three autocorrelation times of the difference and a whole exchange of the cache's content, so
//! that blocks are nearly independent: ten where they fit, and no interval with fewer than five.
//!
//! Of many policies the best is partly so by chance. The interval therefore uses Student's t at 1 − 0.05 / (2 m), where m
//! is the number of comparisons: the largest of m errors exceeds it in at most 5 % of repetitions, however they depend
//! on each other (Bonferroni's bound of the maximum).

use manometer_measure::autocorrelation::autocorrelation_time;
use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::miss_counts::{KEY_GROUPS, MissCounts, TIME_BINS};

/// The chance that any of all intervals misses the true difference.
const SIGNIFICANCE: f64 = 0.05;
/// A block holds at least this many autocorrelation times.
const TIMES_PER_BLOCK: f64 = 3.0;
/// Fewer blocks give no interval.
pub(super) const BLOCKS_MIN: f64 = 5.0;
/// More blocks would be shorter, for little gain.
const BLOCKS_MAX: f64 = 10.0;

/// How much more or less a cache misses than another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PairedDifference {
    /// Its misses divided by the other's, minus 1; 0 if the other has none.
    pub(super) relative: f64,
    /// Half the width of the interval; `None` if the trace is too short for one.
    pub(super) error: Option<f64>,
    /// The length that an interval needs, divided by that of the trace.
    pub(super) needed: f64,
}

impl PairedDifference {
    /// Compares `own` with `other`, as one of `comparisons`. The content of a cache is exchanged once in a share
    /// `exchange` of the trace.
    pub(super) fn of(own: &MissCounts, other: &MissCounts, comparisons: usize, exchange: f64) -> Self {
        let total = other.total() as f64;
        if total == 0.0 {
            return Self { relative: 0.0, error: None, needed: 1.0 };
        }
        let ratio = own.total() as f64 / total;
        let off = |own: &u64, other: &u64| (*own as f64 - ratio * *other as f64) / total;
        let by_time: Vec<f64> =
            std::iter::zip(&own.by_time, &other.by_time).map(|(own, other)| off(own, other)).collect();
        let by_keys: Vec<f64> =
            std::iter::zip(&own.by_keys, &other.by_keys).map(|(own, other)| off(own, other)).collect();
        let block = (TIMES_PER_BLOCK * autocorrelation_time(&by_time) / TIME_BINS as f64).max(exchange);
        let needed = BLOCKS_MIN * block;
        let blocks = (1.0 / block).floor().min(BLOCKS_MAX);
        let error = (needed <= 1.0).then(|| half_width(&sums(&by_time, blocks as usize), &by_keys, comparisons));
        Self { relative: ratio - 1.0, error: error.flatten(), needed }
    }
}

/// The sums over blocks of nearly equal length.
fn sums(bins: &[f64], blocks: usize) -> Vec<f64> {
    let mut sums = vec![0.0; blocks];
    for (bin, off) in bins.iter().enumerate() {
        sums[bin * blocks / bins.len()] += off;
    }
    sums
}

fn half_width(by_time: &[f64], by_keys: &[f64], comparisons: usize) -> Option<f64> {
    let (blocks, groups) = (by_time.len() as f64, KEY_GROUPS as f64);
    let variance = |off: &[f64], parts: f64| parts / (parts - 1.0) * off.iter().map(|off| off * off).sum::<f64>();
    let (time, keys) = (variance(by_time, blocks), variance(by_keys, groups));
    if time + keys == 0.0 {
        return Some(0.0);
    }
    // Degrees of freedom of a sum of variances: Welch 1947, Satterthwaite 1946.
    let freedom = (time + keys).powi(2) / (time.powi(2) / (blocks - 1.0) + keys.powi(2) / (groups - 1.0));
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let critical = student.inverse_cdf(1.0 - SIGNIFICANCE / (2.0 * comparisons.max(1) as f64));
    Some(critical * (time + keys).sqrt())
}

#[cfg(test)]
mod tests {
    use rand::RngExt as _;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng as _;

    use super::*;

    /// The misses of `requests` requests at random places, by keys of random groups; each misses with a chance of 1 in 4.
    fn counts(requests: u64, random: &mut Xoshiro256PlusPlus) -> MissCounts {
        let mut counts = MissCounts::NONE;
        for _ in 0..requests {
            let (place, bits): (f64, u32) = (random.random(), random.random());
            if bits.is_multiple_of(4) {
                counts.add(place, (bits >> 8) as u8, 1);
            }
        }
        counts
    }

    #[test]
    fn equal_caches_differ_by_nothing() {
        let counts = counts(10_000, &mut Xoshiro256PlusPlus::seed_from_u64(1));
        let same = PairedDifference::of(&counts, &counts, 24, 0.01);
        assert_eq!((same.relative, same.error), (0.0, Some(0.0)));
        let none = PairedDifference::of(&counts, &MissCounts::NONE, 24, 0.01);
        assert_eq!((none.relative, none.error), (0.0, None));
    }

    #[test]
    fn the_largest_of_many_differences_by_chance_is_within_its_interval() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let family = |random: &mut Xoshiro256PlusPlus| {
            let other = counts(4000, random);
            let outside = (0..24).filter(|_| {
                let found = PairedDifference::of(&counts(4000, random), &other, 24, 0.01);
                found.error.is_some_and(|error| found.relative.abs() > error)
            });
            outside.count() > 0
        };
        let outside = (0..100).filter(|_| family(&mut random)).count();
        assert!(outside <= 10, "{outside} of 100 families of 24 equal caches have a clear difference");
    }

    #[test]
    fn a_difference_of_a_single_block_or_of_few_keys_is_not_certain() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let other = counts(80_000, &mut random);
        let (mut early, mut few, mut spread) = (other.clone(), other.clone(), other.clone());
        for misses in &mut early.by_time[..20] {
            *misses = 0;
        }
        few.by_keys[3] = 0;
        few.by_time.iter_mut().for_each(|misses| *misses -= *misses / KEY_GROUPS as u64);
        spread.by_time.iter_mut().for_each(|misses| *misses -= *misses / 10);
        spread.by_keys.iter_mut().for_each(|misses| *misses -= *misses / 10);
        for (name, own, is_certain) in [("early", early, false), ("few", few, false), ("spread", spread, true)] {
            let found = PairedDifference::of(&own, &other, 24, 0.01);
            assert!(found.relative < -0.04, "{name}: {found:?}");
            assert_eq!(found.error.is_some_and(|error| found.relative + error < 0.0), is_certain, "{name}: {found:?}");
        }
    }

    #[test]
    fn a_trace_with_fewer_than_five_exchanges_of_the_cache_has_no_interval() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let (own, other) = (counts(8000, &mut random), counts(8000, &mut random));
        assert!(PairedDifference::of(&own, &other, 24, 0.2).error.is_some());
        let short = PairedDifference::of(&own, &other, 24, 0.3);
        assert_eq!((short.error, short.needed), (None, 1.5));
    }

    #[test]
    fn a_difference_that_drifts_has_no_interval() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
        let other = counts(400_000, &mut random);
        let mut own = other.clone();
        for (bin, misses) in own.by_time.iter_mut().enumerate() {
            *misses = *misses * bin as u64 / TIME_BINS as u64;
        }
        let found = PairedDifference::of(&own, &other, 24, 0.01);
        assert!(found.error.is_none() && found.needed > 1.0, "{found:?}");
    }
}
