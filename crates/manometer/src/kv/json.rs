//! The result as JSON.

use serde_json::{Map, Value, json};

use super::summary::Summary;
use crate::latency::latency_us;

/// One document.
pub(super) fn document(summary: &Summary) -> Value {
    let counts: Map<_, _> = summary.operations.iter().map(|(name, all)| (name.clone(), all.len().into())).collect();
    let latency: Map<_, _> = summary.operations.iter().map(|(name, all)| (name.clone(), latency_us(all))).collect();
    // In a closed loop a request is due when it is sent: its response time is its latency.
    let response: Map<_, _> = summary
        .operations
        .iter()
        .map(|(name, all)| (name.clone(), latency_us(summary.responses.get(name).unwrap_or(all))))
        .collect();
    let mut document = json!({
        "throughput": {"mean": summary.rate(summary.requests()), "unit": "ops/s", "samples": summary.samples},
        "seconds": summary.length_ns as f64 / 1e9,
        "operations": counts,
        "missing": summary.missing,
        "latency_us": latency,
        "response_us": response,
        "loop": summary.pace.name(),
        "offered": summary.asked(),
        "asked": summary.asked(),
        "dropped": summary.dropped,
        "facts": summary.facts,
        "state": summary.state,
    });
    if summary.length_ns == 0 {
        document["throughput"]["reason"] = "the run ended before its first request".into();
    }
    document
}
