//! The records that are there, while threads insert more.
//!
//! Numbers are claimed in order, but inserts end in any order. As in YCSB's acknowledged counter, a
//! record may be asked for once it and all before it have been inserted.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The records 0 to [`count`](Self::count) - 1 are there.
#[derive(Debug)]
pub struct Population {
    claimed: AtomicU64,
    count: AtomicU64,
    /// Inserted, but not yet all before them; never more than there are threads.
    ahead: Mutex<BTreeSet<u64>>,
}

impl Population {
    /// `records` records are there.
    pub fn new(records: u64) -> Self {
        Self { claimed: AtomicU64::new(records), count: AtomicU64::new(records), ahead: Mutex::default() }
    }

    /// How many records can be asked for.
    #[cfg(test)]
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// The number of a record to insert; nobody else gets it.
    pub fn claim(&self) -> u64 {
        self.claimed.fetch_add(1, Ordering::Relaxed)
    }

    /// The claimed record `record` has been inserted.
    pub fn inserted(&self, record: u64) {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        ahead.insert(record);
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
    fn a_record_counts_once_all_before_it_are_there() {
        let population = Population::new(10);
        let claimed: Vec<u64> = (0..3).map(|_| population.claim()).collect();
        assert_eq!(claimed, [10, 11, 12]);
        population.inserted(12);
        population.inserted(11);
        assert_eq!(population.count(), 10);
        population.inserted(10);
        assert_eq!(population.count(), 13);
    }
}
