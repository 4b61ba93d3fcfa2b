//! Counters that the threads of the engine share.

use std::sync::atomic::{AtomicU64, Ordering};

/// A counter that many threads increment and few read.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// Sets a value that is not counted, as the last measurement.
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns the count and resets it.
    pub fn take(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

/// Counters since the database was opened.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub user_bytes: Counter,
    pub log_bytes: Counter,
    pub flushes: Counter,
    pub flush_bytes: Counter,
    pub compactions: Counter,
    pub compaction_bytes: Counter,
    pub rebalance_bytes: Counter,
    pub compacting_ns: Counter,
    pub compaction_memory_bytes: Counter,
    pub stalls: Counter,
    pub stalled_ns: Counter,
    pub slowdowns: Counter,
    pub slowed_ns: Counter,
}
