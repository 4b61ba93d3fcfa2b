//! Samples: what all threads did together since the last look.

use manometer_measure::clock::next_multiple;
use std::collections::BTreeMap;

use manometer_measure::LatencyHistogram;
use manometer_target::engine::State;

use super::cells::Seen;
use super::client::{Counted, OPERATIONS, operations_of};
use super::plan::Mix;
use crate::protocol::{OperationSample, Sample};

/// Reads the threads' cells on the beat.
pub(super) struct Sampler<'a> {
    counted: &'a [Counted],
    seen: Vec<[Seen; OPERATIONS.len()]>,
    operations: Vec<usize>,
    state: Box<dyn State + 'a>,
    interval_ns: u64,
    last_ns: u64,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(mix: Mix, counted: &'a [Counted], state: Box<dyn State + 'a>, interval_ms: u64) -> Self {
        Self {
            counted,
            seen: counted.iter().map(|_| Default::default()).collect(),
            operations: operations_of(mix).collect(),
            state,
            interval_ns: interval_ms.max(1) * 1_000_000,
            last_ns: 0,
        }
    }

    /// Begins a stretch of samples at `now_ns`.
    pub(super) fn begin(&mut self, now_ns: u64) {
        self.last_ns = now_ns;
        // The rates of the first sample count from here.
        self.state.sample(now_ns);
    }

    /// When the next sample is due: at the next multiple of the interval.
    pub(super) fn beat_ns(&self) -> u64 {
        next_multiple(self.last_ns, self.interval_ns)
    }

    /// The sample from the last look to this one, at `now_ns`.
    pub(super) fn take(&mut self, now_ns: u64) -> Sample {
        let operations = self.operations.clone();
        let operations =
            operations.into_iter().map(|operation| (OPERATIONS[operation].to_owned(), self.read(operation)));
        let operations: BTreeMap<_, _> = operations.collect();
        let length_ns = now_ns - self.last_ns;
        self.last_ns = now_ns;
        Sample { t_ns: now_ns, length_ns, operations, state: self.state.sample(now_ns) }
    }

    fn read(&mut self, operation: usize) -> OperationSample {
        let mut histogram = LatencyHistogram::new();
        let threads = self.counted.iter().zip(&mut self.seen);
        let bytes =
            threads.map(|(counted, seen)| counted.cells[operation].read_since(&mut seen[operation], &mut histogram));
        let bytes = bytes.sum();
        let latency = if histogram.is_empty() { String::new() } else { histogram.to_base64() };
        OperationSample { requests: histogram.len(), bytes, retries: 0, latency }
    }
}
