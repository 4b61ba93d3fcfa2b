//! The latencies of a phase: all requests of each operation together.

use std::collections::BTreeMap;

use manometer_measure::LatencyHistogram;
use manometer_measure::histogram::PERCENTILES;

use crate::estimate::LatencySummary;
use crate::recording_data::RecordingData;

const NS_PER_US: f64 = 1e3;

/// The latencies of each of the primary's operations in `stretches_s`, in seconds since the start of the recording.
/// `tag` maps an operation to its tag in the log: its service times or its response times.
pub(crate) fn latencies(
    data: &RecordingData,
    stretches_s: &[(f64, f64)],
    tag: impl Fn(&str) -> String,
) -> BTreeMap<String, LatencySummary> {
    let mut summaries = BTreeMap::new();
    for operation in data.latency.operations() {
        let all = data.latency.during(&tag(&operation), stretches_s);
        if !all.is_empty() {
            summaries.insert(operation, latency_summary(&all));
        }
    }
    summaries
}

fn latency_summary(histogram: &LatencyHistogram) -> LatencySummary {
    let in_us = |ns: Option<u64>| ns.map(|ns| ns as f64 / NS_PER_US);
    let [p50, p90, p99, p999] = PERCENTILES.map(|(_, share)| in_us(histogram.quantile_ns(share)));
    LatencySummary { p50, p90, p99, p999, max: in_us(histogram.max_ns()), samples: histogram.len() }
}
