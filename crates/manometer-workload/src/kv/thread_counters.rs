//! What one thread counts, for the sampler to read.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::latency_cells::LatencyCells;
use super::request::Operation;

/// What one thread counts. Only operations that happen, or are expected to, have cells: most workloads know few.
#[derive(Debug, Default)]
pub(crate) struct ThreadCounters {
    service: [OnceLock<LatencyCells>; Operation::COUNT],
    response: [OnceLock<LatencyCells>; Operation::COUNT],
    missing: [AtomicU64; Operation::COUNT],
}

impl ThreadCounters {
    /// Makes the cells of `operations`: made with the first latency, they would take part of the next one's time.
    pub(crate) fn expect(&self, operations: &[Operation]) {
        for operation in operations {
            self.service[*operation as usize].get_or_init(LatencyCells::default);
        }
    }

    /// Counts one request and the bytes that it moved; `response_ns` counts from when it was due, where
    /// that is another time than when it was sent.
    #[inline]
    pub(crate) fn count(&self, operation: Operation, service_ns: u64, response_ns: Option<u64>, bytes: usize) {
        self.service[operation as usize].get_or_init(LatencyCells::default).count(service_ns, bytes);
        if let Some(response_ns) = response_ns {
            self.response[operation as usize].get_or_init(LatencyCells::default).count(response_ns, 0);
        }
    }

    /// Counts one record that was not there. Only one thread may do so.
    #[inline]
    pub(crate) fn miss(&self, operation: Operation) {
        let missing = &self.missing[operation as usize];
        missing.store(missing.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Records that were not there.
    pub(crate) fn missing(&self, operation: Operation) -> u64 {
        self.missing[operation as usize].load(Ordering::Relaxed)
    }

    /// Latencies from the sending of requests, once there was one.
    pub(crate) fn service(&self, operation: Operation) -> Option<&LatencyCells> {
        self.service[operation as usize].get()
    }

    /// Latencies from when requests were due, once there was one.
    pub(crate) fn response(&self, operation: Operation) -> Option<&LatencyCells> {
        self.response[operation as usize].get()
    }
}
