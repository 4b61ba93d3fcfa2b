//! The samples of a run, added up.

use std::collections::BTreeMap;

use manometer_measure::LatencyHistogram;
use manometer_measure::operation::is_background;
use manometer_workload::sample::Sample;

/// The samples of a run, added up by operation.
#[derive(Debug, Clone, Default)]
pub struct SampleTotals {
    /// Service times.
    pub operations: BTreeMap<String, LatencyHistogram>,
    /// Response times, where requests are due at their own times.
    pub responses: BTreeMap<String, LatencyHistogram>,
    /// Requested records that did not exist.
    pub missing: BTreeMap<String, u64>,
    /// Requests that came due and found the queue full.
    pub dropped: u64,
    /// The length of all samples in nanoseconds.
    pub length_ns: u64,
    /// The number of samples.
    pub samples: u64,
}

impl SampleTotals {
    /// Adds a sample. Returns the service times of its requests, without background operations.
    pub fn add(&mut self, sample: &Sample) -> LatencyHistogram {
        let mut foreground = LatencyHistogram::new();
        for (name, operation) in &sample.operations {
            *self.missing.entry(name.clone()).or_default() += operation.missing;
            let all = self.operations.entry(name.clone()).or_default();
            if let Ok(histogram) = LatencyHistogram::from_base64(&operation.latency) {
                all.add(&histogram);
                if !is_background(name) {
                    foreground.add(&histogram);
                }
            }
            if let Ok(histogram) = LatencyHistogram::from_base64(&operation.response) {
                self.responses.entry(name.clone()).or_default().add(&histogram);
            }
        }
        self.dropped += sample.dropped;
        self.length_ns += sample.length_ns;
        self.samples += 1;
        foreground
    }

    /// The number of requests of one operation.
    pub fn count(&self, operation: &str) -> u64 {
        self.operations.get(operation).map_or(0, LatencyHistogram::len)
    }

    /// The number of requests of the operations that `includes` accepts.
    pub fn count_of(&self, includes: impl Fn(&str) -> bool) -> u64 {
        self.operations.iter().filter(|(name, _)| includes(name)).map(|(_, all)| all.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use manometer_workload::sample::OperationSample;

    use super::*;

    fn histogram(latencies_ns: &[u64]) -> String {
        let mut histogram = LatencyHistogram::new();
        latencies_ns.iter().for_each(|latency_ns| histogram.record(*latency_ns));
        histogram.to_base64()
    }

    fn operation(latencies_ns: &[u64], response: &str, missing: u64) -> OperationSample {
        let requests = latencies_ns.len() as u64;
        let (latency, response) = (histogram(latencies_ns), response.to_owned());
        OperationSample { requests, bytes: 0, retries: 0, missing, latency, response }
    }

    #[test]
    fn samples_add_up_and_background_operations_are_no_requests() {
        let sample = |operations: [(&str, OperationSample); 2]| Sample {
            t_ns: 2_000,
            length_ns: 1_000,
            operations: operations.map(|(name, counts)| (name.to_owned(), counts)).into(),
            dropped: 1,
            state: BTreeMap::new(),
            state_t_ns: None,
        };
        let mut totals = SampleTotals::default();
        let background = "background_update";
        assert!(is_background(background));
        let first =
            sample([("read", operation(&[10, 20], &histogram(&[30]), 1)), (background, operation(&[5], "", 0))]);
        assert_eq!(totals.add(&first).len(), 2);
        let second = sample([("read", operation(&[40], "", 2)), ("insert", operation(&[], "", 0))]);
        assert_eq!(totals.add(&second).len(), 1);
        assert_eq!((totals.samples, totals.length_ns, totals.dropped), (2, 2_000, 2));
        assert_eq!((totals.count("read"), totals.missing["read"], totals.responses["read"].len()), (3, 3, 1));
        assert_eq!(
            (totals.count(background), totals.count("update"), totals.count_of(|name| !is_background(name))),
            (1, 0, 3)
        );
    }
}
