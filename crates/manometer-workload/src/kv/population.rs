//! The records that exist, while threads insert more.
//!
//! Numbers are claimed in order, but inserts end in any order. As in YCSB's acknowledged counter, a
//! record may be requested once it and all before it have been inserted.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Which records are loaded, and which are inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordRange {
    /// The number of the first record that is loaded.
    pub first: u64,
    /// How many are loaded.
    pub loaded: u64,
    /// The number of the first record that is inserted.
    pub next: u64,
}

impl RecordRange {
    /// The first `loaded` of all, followed by those that are inserted.
    pub fn whole(loaded: u64) -> Self {
        Self { first: 0, loaded, next: loaded }
    }
}

/// The records at the places 0 to [`count`](Self::count) - 1 exist. The place of a record is its number, unless only a part
/// of the records was loaded.
#[derive(Debug)]
pub struct Population {
    range: RecordRange,
    claimed: AtomicU64,
    count: AtomicU64,
    /// Inserted before some record in front of them; at most as many as there are threads.
    ahead: Mutex<BTreeSet<u64>>,
}

impl Population {
    /// The loaded records of `range` exist.
    pub fn new(range: RecordRange) -> Self {
        let loaded = range.loaded;
        Self { range, claimed: AtomicU64::new(loaded), count: AtomicU64::new(loaded), ahead: Mutex::default() }
    }

    /// How many records can be requested.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// The number of the record at `place`.
    #[inline]
    pub fn record(&self, place: u64) -> u64 {
        if place < self.range.loaded { self.range.first + place } else { self.range.next + (place - self.range.loaded) }
    }

    /// The number of a record to insert, unique to the caller.
    pub fn claim(&self) -> u64 {
        self.record(self.claimed.fetch_add(1, Ordering::Relaxed))
    }

    /// The claimed record `record` has been inserted.
    pub fn inserted(&self, record: u64) {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        ahead.insert(self.range.loaded + (record - self.range.next));
        let mut count = self.count.load(Ordering::Relaxed);
        while ahead.remove(&count) {
            count += 1;
        }
        self.count.store(count, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_counts_once_all_before_it_exist() {
        let population = Population::new(RecordRange::whole(10));
        let claimed: Vec<u64> = (0..3).map(|_| population.claim()).collect();
        assert_eq!(claimed, [10, 11, 12]);
        population.inserted(12);
        population.inserted(11);
        assert_eq!(population.count(), 10);
        population.inserted(10);
        assert_eq!(population.count(), 13);
    }

    #[test]
    fn inserts_after_a_partial_load_follow_the_whole() {
        let population = Population::new(RecordRange { first: 30, loaded: 20, next: 100 });
        assert_eq!([0, 19].map(|place| population.record(place)), [30, 49]);
        let claimed = population.claim();
        assert_eq!((claimed, population.record(20)), (100, 100));
        population.inserted(claimed);
        assert_eq!(population.count(), 21);
    }
}
