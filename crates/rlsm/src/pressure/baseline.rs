//! How long the device takes when nobody else asks for it, learned while the database runs.

use std::collections::VecDeque;

/// Loads are told apart by their power of two, and beyond this not at all.
pub(super) const LOADS: usize = 6;

/// Latencies are gathered for so long before their median counts as one.
const BUCKET_NS: u64 = 5_000_000_000;

/// A bucket of fewer latencies tells nothing.
const BUCKET_SAMPLES_MIN: usize = 8;

/// More are not kept in a bucket: the newest take the oldest ones' places.
const BUCKET_SAMPLES_MAX: usize = 64;

/// So many buckets are remembered: those of 20 minutes.
const BUCKETS_MAX: usize = 240;

/// Fewer buckets tell nothing.
const BUCKETS_MIN: usize = 3;

/// What the engine itself asks of the device at a time: only like is compared with like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Load {
    /// Whether the engine also reads or writes in bulk.
    pub is_busy: bool,
    /// How much is asked for at once, as its power of two.
    pub log2: usize,
}

impl Load {
    pub fn new(is_busy: bool, amount: u64) -> Self {
        Self { is_busy, log2: (amount.max(1).ilog2() as usize).min(LOADS - 1) }
    }
}

/// The usual latency of one kind of operation, for each load.
#[derive(Default)]
pub(super) struct Baselines {
    learned: [[Learned; LOADS]; 2],
}

impl Baselines {
    pub fn learn(&mut self, load: Load, now_ns: u64, latency_ns: u64) {
        self.learned[usize::from(load.is_busy)][load.log2].add(now_ns, latency_ns);
    }

    /// Forgets what was gathered last, which a neighbour had a part in.
    pub fn drop_unfinished(&mut self) {
        self.learned.iter_mut().flatten().for_each(|learned| learned.bucket.clear());
    }

    /// The usual latency at `load`; `None` while it is not known.
    ///
    /// Less is never slower: what is known of a higher load is a bound for a lower one. And twice as much takes at most
    /// twice as long, so that what is known of a lower load, times how much more is asked for, is a bound too. What is
    /// not known is taken to be at its bound: own load is never held for a neighbour.
    pub fn usual_ns(&self, load: Load) -> Option<u64> {
        let known = self.learned[usize::from(load.is_busy)..].iter().flat_map(|loads| loads.iter().enumerate());
        known.filter_map(|(log2, learned)| Some(learned.usual_ns? << load.log2.saturating_sub(log2))).min()
    }
}

/// The usual latency at one load.
#[derive(Default)]
struct Learned {
    bucket: Vec<u64>,
    /// How many latencies came in the bucket's time.
    count: usize,
    began_ns: u64,
    medians: VecDeque<u64>,
    usual_ns: Option<u64>,
}

impl Learned {
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
                // Low, so that a neighbour who comes and goes is not learned; not the lowest, which may be luck.
                self.usual_ns = percentile(self.medians.clone().make_contiguous(), 25);
            }
        }
        self.bucket.clear();
    }
}

/// The value that `percent` of all lie below; `None` if there are none.
pub(super) fn percentile<T: Ord + Copy>(values: &mut [T], percent: usize) -> Option<T> {
    let rank = values.len().checked_sub(1)? * percent / 100;
    Some(*values.select_nth_unstable(rank).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const QUIET: Load = Load { is_busy: false, log2: 0 };

    /// Ten latencies a second, from second `from` on.
    fn learn(baselines: &mut Baselines, load: Load, from: u64, seconds: u64, latency_ns: u64) {
        for number in 0..seconds * 10 {
            baselines.learn(load, from * S + number * S / 10, latency_ns);
        }
    }

    #[test]
    fn what_is_usual_is_known_after_some_buckets() {
        let mut baselines = Baselines::default();
        learn(&mut baselines, QUIET, 0, 10, 100);
        assert_eq!(baselines.usual_ns(QUIET), None);
        learn(&mut baselines, QUIET, 10, 10, 100);
        assert_eq!(baselines.usual_ns(QUIET), Some(100));
    }

    #[test]
    fn few_latencies_teach_nothing() {
        let mut baselines = Baselines::default();
        for number in 0..1000 {
            baselines.learn(QUIET, number * S, 100);
        }
        assert_eq!(baselines.usual_ns(QUIET), None);
    }

    #[test]
    fn a_slow_time_does_not_change_what_is_usual_and_a_fast_device_is_learned_soon() {
        let mut baselines = Baselines::default();
        learn(&mut baselines, QUIET, 0, 100, 100);
        learn(&mut baselines, QUIET, 100, 300, 900);
        assert_eq!(baselines.usual_ns(QUIET), Some(100));
        learn(&mut baselines, QUIET, 400, 200, 50);
        assert_eq!(baselines.usual_ns(QUIET), Some(50));
    }

    #[test]
    fn after_the_remembered_time_the_slow_device_is_the_usual_one() {
        let mut baselines = Baselines::default();
        learn(&mut baselines, QUIET, 0, 100, 100);
        learn(&mut baselines, QUIET, 100, 1300, 900);
        assert_eq!(baselines.usual_ns(QUIET), Some(900));
    }

    #[test]
    fn more_load_may_take_longer_and_less_may_not() {
        let mut baselines = Baselines::default();
        let load = Load::new;
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
    fn what_is_not_known_of_busy_times_is_not_made_up() {
        let mut baselines = Baselines::default();
        learn(&mut baselines, QUIET, 0, 30, 100);
        assert_eq!(baselines.usual_ns(Load::new(true, 1)), None);
    }

    #[test]
    fn what_is_unfinished_can_be_dropped() {
        let mut baselines = Baselines::default();
        for slow in 0..10 {
            learn(&mut baselines, QUIET, slow * 10, 4, 900);
            baselines.drop_unfinished();
        }
        assert_eq!(baselines.usual_ns(QUIET), None);
    }
}
