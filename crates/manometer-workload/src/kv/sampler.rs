//! Samples: what all threads did together since the last look.

use std::collections::BTreeMap;

use manometer_measure::clock::next_multiple;
use manometer_measure::{Clock, LatencyHistogram};

use super::cells::{Cells, Seen};
use super::counted::Counted;
use super::request::Operation;
use crate::protocol::{OperationSample, Sample};

/// The longest time between two looks at the control lines.
pub(crate) const LOOK_NS: u64 = 10_000_000;

/// Reads the threads' cells on the beat.
pub(crate) struct Sampler<'a> {
    counted: Vec<&'a Counted>,
    operations: Vec<Seeing>,
    interval_ns: u64,
    last_ns: u64,
}

/// One operation, and what was seen of it in each thread.
struct Seeing {
    operation: Operation,
    service: Vec<Option<Seen>>,
    response: Vec<Option<Seen>>,
    missing: u64,
}

impl<'a> Sampler<'a> {
    /// Samples `operations`, each whether it happens or not.
    pub(crate) fn new(
        operations: &[Operation],
        counted: impl IntoIterator<Item = &'a Counted>,
        interval_ms: u64,
    ) -> Self {
        let counted = counted.into_iter().collect();
        let mut sampler =
            Self { counted, operations: Vec::new(), interval_ns: interval_ms.max(1) * 1_000_000, last_ns: 0 };
        sampler.sample_also(operations);
        sampler
    }

    /// Samples `operations` from now on, beside those that it samples already: requests of before a change may
    /// still be under way.
    pub(crate) fn sample_also(&mut self, operations: &[Operation]) {
        let nothing = || self.counted.iter().map(|_| None).collect();
        for operation in operations {
            if !self.operations.iter().any(|seeing| seeing.operation == *operation) {
                let seeing = Seeing { operation: *operation, service: nothing(), response: nothing(), missing: 0 };
                self.operations.push(seeing);
            }
        }
    }

    /// Begins a stretch of samples at `now_ns`.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.last_ns = now_ns;
    }

    /// Waits for the next sample where samples are taken, `going`, but not so long that a control line, or what comes at
    /// `until_ns`, would have to; says whether the sample is due.
    pub(crate) fn wait(&self, going: bool, until_ns: u64, clock: &dyn Clock) -> bool {
        let now_ns = clock.now_ns();
        if going && now_ns >= self.beat_ns() {
            return true;
        }
        let look_ns = until_ns.clamp(now_ns, now_ns + LOOK_NS);
        clock.sleep_until(if going { look_ns.min(self.beat_ns()) } else { look_ns });
        false
    }

    /// When the next sample is due: at the next multiple of the interval.
    pub(crate) fn beat_ns(&self) -> u64 {
        next_multiple(self.last_ns, self.interval_ns)
    }

    /// The sample from the last look to this one, at `now_ns`; the engine's state is not part of it.
    pub(crate) fn take(&mut self, now_ns: u64) -> Sample {
        let operations: BTreeMap<_, _> = self
            .operations
            .iter_mut()
            .map(|seeing| (seeing.operation.name().to_owned(), seeing.look(&self.counted)))
            .collect();
        let length_ns = now_ns - self.last_ns;
        self.last_ns = now_ns;
        Sample { t_ns: now_ns, length_ns, operations, dropped: 0, state: BTreeMap::new(), state_t_ns: None }
    }
}

impl Seeing {
    fn look(&mut self, counted: &[&Counted]) -> OperationSample {
        let service = counted.iter().map(|thread| thread.service(self.operation));
        let (service, bytes) = add_up(service, &mut self.service);
        let response = counted.iter().map(|thread| thread.response(self.operation));
        let (response, _) = add_up(response, &mut self.response);
        let missing: u64 = counted.iter().map(|thread| thread.missing(self.operation)).sum();
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

/// What all threads counted since it was last `seen`: latencies and bytes.
fn add_up<'a>(cells: impl Iterator<Item = Option<&'a Cells>>, seen: &mut [Option<Seen>]) -> (LatencyHistogram, u64) {
    let mut histogram = LatencyHistogram::new();
    let mut bytes = 0;
    for (cells, seen) in cells.zip(seen) {
        if let Some(cells) = cells {
            bytes += cells.read_since(seen.get_or_insert_default(), &mut histogram);
        }
    }
    (histogram, bytes)
}
