//! The misses of an exactly simulated cache, in bins of time.

use manometer_measure::autocorrelation::autocorrelation_time;
use serde::Serialize;

use super::estimate::Estimate;
use crate::statistics::SIGNIFICANCE;
use crate::statistics::student::critical_value;

/// The bins in which misses are counted, equal in requests.
pub const BINS: usize = 200;
/// A block of bins holds at least this many autocorrelation times.
const TIMES_PER_BLOCK: f64 = 3.0;
/// Fewer blocks give no interval.
const BLOCKS_MIN: f64 = 5.0;
/// More blocks would be shorter, for little gain.
const BLOCKS_MAX: f64 = 20.0;

/// Reads and missed reads, bin by bin.
#[derive(Debug, Clone, PartialEq)]
pub struct BinnedMisses {
    /// The reads of each bin.
    pub reads: Vec<u64>,
    /// Its missed reads.
    pub misses: Vec<u64>,
}

impl Default for BinnedMisses {
    fn default() -> Self {
        Self { reads: vec![0; BINS], misses: vec![0; BINS] }
    }
}

impl BinnedMisses {
    /// Counts the read at `position` of `requests`.
    #[inline]
    pub fn add(&mut self, position: usize, requests: usize, is_hit: bool) {
        let bin = (position as u128 * BINS as u128 / requests.max(1) as u128) as usize;
        self.reads[bin] += 1;
        self.misses[bin] += u64::from(!is_hit);
    }

    fn totals(&self) -> (f64, f64) {
        (self.misses.iter().sum::<u64>() as f64, self.reads.iter().sum::<u64>() as f64)
    }

    /// The missed share of all reads; `None` without reads.
    pub fn miss_ratio(&self) -> Option<f64> {
        let (misses, reads) = self.totals();
        (reads > 0.0).then(|| misses / reads)
    }

    /// What each bin adds to the error of the miss ratio: the linearised ratio of sums, which weights bins by their reads.
    fn deviations(&self) -> Vec<f64> {
        let (misses, reads) = self.totals();
        let ratio = misses / reads;
        std::iter::zip(&self.misses, &self.reads)
            .map(|(own, read)| (*own as f64 - ratio * *read as f64) / reads)
            .collect()
    }
}

/// A load on an exactly simulated LRU cache.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SimulatedCache {
    /// The load.
    pub load: String,
    /// The cache as a share of the bytes of all keys and values.
    pub cache: f64,
    /// Its capacity in bytes of keys and values.
    pub cache_bytes: u64,
    /// The missed share of the reads.
    pub miss_ratio: Option<f64>,
    /// How much more than the trace it misses.
    pub difference: Estimate,
    /// The misses over time.
    #[serde(skip)]
    pub bins: BinnedMisses,
    /// The share of the requests after which the content of the cache was exchanged once.
    #[serde(skip)]
    pub exchange: f64,
}

/// How much more `other` misses than `one`, as one of `comparisons` whose intervals hold together.
///
/// The difference is exact for these requests. The interval says what other traffic of the same kind would show: the
/// difference is taken in blocks of time, each of at least three autocorrelation times and a whole exchange of the cache's
/// content, so that blocks are nearly independent. Fewer than five give no interval.
pub fn miss_difference(one: &SimulatedCache, other: &SimulatedCache, comparisons: usize) -> Estimate {
    let Some(difference) = one.bins.miss_ratio().zip(other.bins.miss_ratio()).map(|(one, other)| other - one) else {
        return Estimate { reason: Some("it has no reads"), ..Estimate::default() };
    };
    let off: Vec<f64> =
        std::iter::zip(one.bins.deviations(), other.bins.deviations()).map(|(one, other)| other - one).collect();
    let exact = Estimate { mean: Some(difference), ..Estimate::default() };
    let exchange = one.exchange.max(other.exchange);
    let block = (TIMES_PER_BLOCK * autocorrelation_time(&off) / BINS as f64).max(exchange);
    let blocks = (1.0 / block).floor().min(BLOCKS_MAX);
    if blocks < BLOCKS_MIN {
        return Estimate {
            reason: Some("the trace is shorter than five exchanges of the cache or swings of the difference"),
            ..exact
        };
    }
    let count = blocks as usize;
    let mut sums = vec![0.0; count];
    for (bin, off) in off.iter().enumerate() {
        sums[bin * count / BINS] += off;
    }
    let variance = blocks / (blocks - 1.0) * sums.iter().map(|sum| sum * sum).sum::<f64>();
    let critical = critical_value(SIGNIFICANCE / comparisons.max(1) as f64, blocks - 1.0);
    let half = critical.map(|critical| critical * variance.sqrt());
    Estimate {
        ci_low: half.map(|half| difference - half),
        ci_high: half.map(|half| difference + half),
        samples: sums.len(),
        ..exact
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt as _;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng as _;

    use super::*;

    /// Reads of which `ratio(place)` miss at random, on a cache whose content is exchanged in a share `exchange`.
    fn cache(requests: usize, exchange: f64, seed: u64, ratio: impl Fn(f64) -> f64) -> SimulatedCache {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut bins = BinnedMisses::default();
        for position in 0..requests {
            bins.add(position, requests, random.random::<f64>() >= ratio(position as f64 / requests as f64));
        }
        SimulatedCache {
            load: String::new(),
            cache: 0.1,
            cache_bytes: 1,
            miss_ratio: bins.miss_ratio(),
            difference: Estimate::default(),
            bins,
            exchange,
        }
    }

    #[test]
    fn the_mean_is_that_of_all_reads_where_bins_are_uneven() {
        let mut one = cache(1037, 0.01, 1, |_| 0.2);
        let other = cache(1037, 0.01, 2, |_| 0.5);
        one.bins.reads[7] += 1000;
        let plain = |cache: &SimulatedCache| {
            cache.bins.misses.iter().sum::<u64>() as f64 / cache.bins.reads.iter().sum::<u64>() as f64
        };
        let found = miss_difference(&one, &other, 1);
        assert!((found.mean.unwrap() - (plain(&other) - plain(&one))).abs() < 1e-12);
        assert_eq!(one.bins.reads.iter().sum::<u64>(), 2037);
    }

    #[test]
    fn intervals_hold_the_true_difference_in_19_of_20_cases() {
        let outside = (0..200)
            .filter(|number| {
                let [one, other] = [(0.3, 1), (0.4, 2)]
                    .map(|(ratio, seed)| cache(4000, 0.01, 2 * number + seed * 1000, move |_| ratio));
                let found = miss_difference(&one, &other, 1);
                found.ci_low.unwrap() > 0.1 || found.ci_high.unwrap() < 0.1
            })
            .count();
        assert!(outside <= 22, "{outside} of 200");
        let (one, other) = (cache(4000, 0.01, 1, |_| 0.3), cache(4000, 0.01, 2, |_| 0.4));
        let width = |comparisons| {
            let found = miss_difference(&one, &other, comparisons);
            found.ci_high.unwrap() - found.ci_low.unwrap()
        };
        assert!(width(10) > 1.3 * width(1), "intervals that hold together are wider");
    }

    #[test]
    fn too_few_exchanges_and_drifts_have_no_interval() {
        let one = cache(20_000, 0.01, 1, |_| 0.3);
        assert!(miss_difference(&one, &cache(20_000, 0.2, 2, |_| 0.4), 1).ci_low.is_some());
        let slow = miss_difference(&one, &cache(20_000, 0.3, 2, |_| 0.4), 1);
        assert!(slow.mean.is_some() && slow.ci_low.is_none() && slow.reason.is_some());
        let drift = miss_difference(&one, &cache(20_000, 0.01, 2, |place| place), 1);
        assert_eq!((drift.ci_low, drift.samples), (None, 0));
    }

    #[test]
    fn without_reads_there_is_no_difference() {
        let none = cache(0, 0.01, 1, |_| 0.0);
        assert_eq!(miss_difference(&none, &none, 1).mean, None);
    }
}
