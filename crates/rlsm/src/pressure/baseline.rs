//! The usual latency of the device without a neighbour, learned while the database runs.

use std::collections::VecDeque;

use super::io_sample::{DeviceLoad, LOAD_CLASSES};

/// The time over which latencies are collected before their median counts as one value.
const BUCKET_NS: u64 = 5_000_000_000;

/// A bucket with fewer latencies is dropped.
const BUCKET_SAMPLES_MIN: usize = 8;

/// The capacity of a bucket: newer latencies overwrite older ones.
const BUCKET_SAMPLES_MAX: usize = 64;

/// The number of buckets remembered: 20 minutes.
const BUCKETS_MAX: usize = 240;

/// The number of buckets from which on the usual latency is known.
const BUCKETS_MIN: usize = 3;

/// The usual latency of one kind of I/O, for each load.
#[derive(Default)]
pub(super) struct Baselines {
    learned: [[Baseline; LOAD_CLASSES]; 2],
}

impl Baselines {
    pub fn learn(&mut self, load: DeviceLoad, now_ns: u64, latency_ns: u64) {
        self.learned[usize::from(load.is_busy)][load.log2].add(now_ns, latency_ns);
    }

    /// Drops unfinished buckets, which a neighbour has affected.
    pub fn drop_unfinished(&mut self) {
        self.learned.iter_mut().flatten().for_each(|learned| learned.bucket.clear());
    }

    /// The usual latency at `load`; `None` while it is not known.
    ///
    /// Two assumptions bound it where it was not measured. Less load is not slower: the latency of a higher load is an
    /// upper bound. Twice the load takes at most twice as long: the latency of a lower load times the ratio is an upper
    /// bound too. Using the bound never mistakes the engine's own load for a neighbour if they hold.
    pub fn usual_ns(&self, load: DeviceLoad) -> Option<u64> {
        let known = self.learned[usize::from(load.is_busy)..].iter().flat_map(|loads| loads.iter().enumerate());
        known.filter_map(|(log2, learned)| Some(learned.usual_ns? << load.log2.saturating_sub(log2))).min()
    }
}

/// The usual latency at one load.
#[derive(Default)]
struct Baseline {
    bucket: Vec<u64>,
    /// The number of latencies in the bucket's time.
    count: usize,
    began_ns: u64,
    medians: VecDeque<u64>,
    usual_ns: Option<u64>,
}

impl Baseline {
    fn add(&mut self, now_ns: u64, latency_ns: u64) {
        if self.bucket.is_empty() {
            (self.began_ns, self.count) = (now_ns, 0);
        }
        match self.bucket.len() {
            BUCKET_SAMPLES_MAX => self.bucket[self.count % BUCKET_SAMPLES_MAX] = latency_ns,
            _ => self.bucket.push(latency_ns),
        }
        self.count += 1;
        if now_ns.saturating_sub(self.began_ns) >= BUCKET_NS {
            self.close();
        }
    }

    fn close(&mut self) {
        if self.bucket.len() >= BUCKET_SAMPLES_MIN {
            if self.medians.len() == BUCKETS_MAX {
                self.medians.pop_front();
            }
            self.medians.extend(percentile(&mut self.bucket, 50));
            if self.medians.len() >= BUCKETS_MIN {
                // A low percentile, so that a neighbour that comes and goes is not learned; not the minimum, which may
                // be an outlier.
                self.usual_ns = percentile(self.medians.clone().make_contiguous(), 25);
            }
        }
        self.bucket.clear();
    }
}

/// The value at this percentile; `None` without values.
pub(super) fn percentile<T: Ord + Copy>(values: &mut [T], percent: usize) -> Option<T> {
    let rank = values.len().checked_sub(1)? * percent / 100;
    Some(*values.select_nth_unstable(rank).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const QUIET: DeviceLoad = DeviceLoad { is_busy: false, log2: 0 };

    /// Ten latencies a second, from second `from` on.
    fn learn(baselines: &mut Baselines, load: DeviceLoad, from: u64, seconds: u64, latency_ns: u64) {
        for number in 0..seconds * 10 {
            baselines.learn(load, from * S + number * S / 10, latency_ns);
        }
    }

    #[test]
    fn the_usual_latency_is_known_after_some_buckets() {
        let mut baselines = Baselines::default();
        learn(&mut baselines, QUIET, 0, 10, 100);
        assert_eq!(baselines.usual_ns(QUIET), None);
        learn(&mut baselines, QUIET, 10, 10, 100);
        assert_eq!(baselines.usual_ns(QUIET), Some(100));
    }

    #[test]
    fn a_bucket_of_few_latencies_is_dropped() {
        let mut baselines = Baselines::default();
        for number in 0..1000 {
            baselines.learn(QUIET, number * S, 100);
        }
        assert_eq!(baselines.usual_ns(QUIET), None);
    }

    #[test]
    fn a_slow_period_does_not_raise_the_usual_latency_and_a_fast_one_lowers_it() {
        let mut baselines = Baselines::default();
        learn(&mut baselines, QUIET, 0, 100, 100);
        learn(&mut baselines, QUIET, 100, 300, 900);
        assert_eq!(baselines.usual_ns(QUIET), Some(100));
        learn(&mut baselines, QUIET, 400, 200, 50);
        assert_eq!(baselines.usual_ns(QUIET), Some(50));
    }

    #[test]
    fn a_lasting_slow_period_becomes_usual() {
        let mut baselines = Baselines::default();
        learn(&mut baselines, QUIET, 0, 100, 100);
        learn(&mut baselines, QUIET, 100, 1300, 900);
        assert_eq!(baselines.usual_ns(QUIET), Some(900));
    }

    #[test]
    fn the_latency_of_other_loads_is_bounded() {
        let mut baselines = Baselines::default();
        let load = DeviceLoad::new;
        learn(&mut baselines, load(true, 4), 0, 30, 800);
        assert_eq!(baselines.usual_ns(load(true, 4)), Some(800));
        assert_eq!(baselines.usual_ns(load(true, 2)), Some(800));
        assert_eq!(baselines.usual_ns(load(true, 16)), Some(3200));
        assert_eq!(baselines.usual_ns(load(false, 1)), Some(800));
        learn(&mut baselines, load(false, 1), 30, 30, 100);
        assert_eq!(baselines.usual_ns(load(false, 2)), Some(200));
        assert_eq!(baselines.usual_ns(load(true, 4)), Some(800));
    }

    #[test]
    fn an_idle_latency_says_nothing_about_busy_times() {
        let mut baselines = Baselines::default();
        learn(&mut baselines, QUIET, 0, 30, 100);
        assert_eq!(baselines.usual_ns(DeviceLoad::new(true, 1)), None);
    }

    #[test]
    fn unfinished_buckets_can_be_dropped() {
        let mut baselines = Baselines::default();
        for slow in 0..10 {
            learn(&mut baselines, QUIET, slow * 10, 4, 900);
            baselines.drop_unfinished();
        }
        assert_eq!(baselines.usual_ns(QUIET), None);
    }
}
