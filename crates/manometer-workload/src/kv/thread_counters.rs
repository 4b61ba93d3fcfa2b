//! One thread's counters, which the sampler reads.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::latency_cells::LatencyCells;
use super::request::KvOperation;

/// One thread's counters. Only operations that occur, or are expected, have cells: most workloads have few.
#[derive(Debug, Default)]
pub(crate) struct ThreadCounters {
    service: [OnceLock<LatencyCells>; KvOperation::COUNT],
    response: [OnceLock<LatencyCells>; KvOperation::COUNT],
    missing: [AtomicU64; KvOperation::COUNT],
}

impl ThreadCounters {
    /// Allocates the cells of `operations`: allocating them with the first latency would take time of the next request.
    pub(crate) fn allocate(&self, operations: &[KvOperation]) {
        for operation in operations {
            self.service[*operation as usize].get_or_init(LatencyCells::default);
        }
    }

    /// Counts one request and the bytes that it moved; `response_ns` counts from when it was due, where
    /// that is another time than when it was sent.
    #[inline]
    pub(crate) fn count(&self, operation: KvOperation, service_ns: u64, response_ns: Option<u64>, bytes: usize) {
        self.service[operation as usize].get_or_init(LatencyCells::default).count(service_ns, bytes);
        if let Some(response_ns) = response_ns {
            self.response[operation as usize].get_or_init(LatencyCells::default).count(response_ns, 0);
        }
    }

    /// Counts one missing record. Only one thread may do so.
    #[inline]
    pub(crate) fn count_missing(&self, operation: KvOperation) {
        let missing = &self.missing[operation as usize];
        missing.store(missing.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Missing records.
    pub(crate) fn missing(&self, operation: KvOperation) -> u64 {
        self.missing[operation as usize].load(Ordering::Relaxed)
    }

    /// Service times, once there was one.
    pub(crate) fn service(&self, operation: KvOperation) -> Option<&LatencyCells> {
        self.service[operation as usize].get()
    }

    /// Response times, once there was one.
    pub(crate) fn response(&self, operation: KvOperation) -> Option<&LatencyCells> {
        self.response[operation as usize].get()
    }
}
