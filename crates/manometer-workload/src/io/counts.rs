//! Counts since the last sample.

use manometer_measure::LatencyHistogram;

use crate::sample::{OperationSample, SampleCounts};

/// The state column that counts `fdatasync` calls.
pub(super) const SYNCS: &str = "fdatasyncs";

/// The counts of one direction.
#[derive(Debug, Default)]
pub(super) struct DirectionCounts {
    requests: u64,
    bytes: u64,
    pub(super) retries: u64,
    latency: LatencyHistogram,
    /// Response times; empty where requests have no due time.
    response: LatencyHistogram,
}

impl DirectionCounts {
    #[inline]
    pub(super) fn count(&mut self, bytes: u32, latency_ns: u64, response_ns: Option<u64>) {
        self.requests += 1;
        self.bytes += u64::from(bytes);
        self.latency.record(latency_ns);
        if let Some(response_ns) = response_ns {
            self.response.record(response_ns);
        }
    }

    fn take(&mut self) -> OperationSample {
        let encoded = |all: &LatencyHistogram| if all.is_empty() { String::new() } else { all.to_base64() };
        let (latency, response) = (encoded(&self.latency), encoded(&self.response));
        let sample = OperationSample {
            requests: self.requests,
            bytes: self.bytes,
            retries: self.retries,
            missing: 0,
            latency,
            response,
        };
        if self.requests > 0 {
            self.latency.clear();
            self.response.clear();
        }
        (self.requests, self.bytes, self.retries) = (0, 0, 0);
        sample
    }
}

/// The counts of reads, writes and `fdatasync` calls.
#[derive(Debug, Default)]
pub(super) struct IoCounts {
    pub(super) read: DirectionCounts,
    pub(super) write: DirectionCounts,
    pub(super) syncs: u64,
}

impl IoCounts {
    /// The counts since the last call, and the engine's own.
    pub(super) fn take(&mut self, of_engine: Vec<(&'static str, u64)>) -> SampleCounts {
        let operations = [("read".to_owned(), self.read.take()), ("write".to_owned(), self.write.take())];
        let syncs = std::mem::take(&mut self.syncs);
        let state = of_engine.into_iter().chain([(SYNCS, syncs)]);
        let state = state.map(|(name, count)| (name.to_owned(), count as f64)).collect();
        SampleCounts { operations: operations.into(), dropped: 0, state }
    }
}
