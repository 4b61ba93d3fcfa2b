//! Samples the counters of all threads.

use std::collections::BTreeMap;

use manometer_measure::LatencyHistogram;

use super::latency_cells::{CellSnapshot, LatencyCells};
use super::request::KvOperation;
use super::thread_counters::ThreadCounters;
use crate::sample::OperationSample;

/// Reads the counters of all threads.
pub(crate) struct Sampler<'a> {
    counters: Vec<&'a ThreadCounters>,
    operations: Vec<SampledOperation>,
}

/// One operation, and its last reading in each thread.
struct SampledOperation {
    operation: KvOperation,
    service: Vec<Option<CellSnapshot>>,
    response: Vec<Option<CellSnapshot>>,
    missing: u64,
}

impl<'a> Sampler<'a> {
    /// Samples `operations`, whether or not they occur.
    pub(crate) fn new(operations: &[KvOperation], counters: impl IntoIterator<Item = &'a ThreadCounters>) -> Self {
        let mut sampler = Self { counters: counters.into_iter().collect(), operations: Vec::new() };
        sampler.add_operations(operations);
        sampler
    }

    /// Samples `operations` too: requests from before a change may still be in flight.
    pub(crate) fn add_operations(&mut self, operations: &[KvOperation]) {
        let nothing = || self.counters.iter().map(|_| None).collect();
        for operation in operations {
            if !self.operations.iter().any(|sampled| sampled.operation == *operation) {
                let (service, response) = (nothing(), nothing());
                self.operations.push(SampledOperation { operation: *operation, service, response, missing: 0 });
            }
        }
    }

    /// The counts of each operation since the last call.
    pub(crate) fn take(&mut self) -> BTreeMap<String, OperationSample> {
        let named =
            |sampled: &mut SampledOperation| (sampled.operation.name().to_owned(), sampled.take(&self.counters));
        self.operations.iter_mut().map(named).collect()
    }
}

impl SampledOperation {
    fn take(&mut self, counters: &[&ThreadCounters]) -> OperationSample {
        let service = counters.iter().map(|thread| thread.service(self.operation));
        let (service, bytes) = add_up(service, &mut self.service);
        let response = counters.iter().map(|thread| thread.response(self.operation));
        let (response, _) = add_up(response, &mut self.response);
        let missing: u64 = counters.iter().map(|thread| thread.missing(self.operation)).sum();
        let text = |all: &LatencyHistogram| if all.is_empty() { String::new() } else { all.to_base64() };
        OperationSample {
            requests: service.len(),
            bytes,
            retries: 0,
            missing: missing - std::mem::replace(&mut self.missing, missing),
            latency: text(&service),
            response: text(&response),
        }
    }
}

/// Latencies and bytes of all threads since `seen`.
fn add_up<'a>(
    cells: impl Iterator<Item = Option<&'a LatencyCells>>,
    seen: &mut [Option<CellSnapshot>],
) -> (LatencyHistogram, u64) {
    let mut histogram = LatencyHistogram::new();
    let mut bytes = 0;
    for (cells, seen) in cells.zip(seen) {
        if let Some(cells) = cells {
            bytes += cells.read_since(seen.get_or_insert_default(), &mut histogram);
        }
    }
    (histogram, bytes)
}
