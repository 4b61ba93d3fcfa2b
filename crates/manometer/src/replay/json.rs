//! The result as JSON.

use manometer_session::group::HostClock;
use serde_json::{Map, Value, json};

use super::summary::Summary;
use crate::latency::latency_us;

/// One document.
pub(super) fn document(summary: &Summary) -> Value {
    let counts: Map<_, _> = summary.operations.iter().map(|(name, all)| (name.clone(), all.len().into())).collect();
    let latency: Map<_, _> = summary.operations.iter().map(|(name, all)| (name.clone(), latency_us(all))).collect();
    // At full speed a request is due when it is sent: its response time is its latency.
    let response: Map<_, _> = summary
        .operations
        .iter()
        .map(|(name, all)| (name.clone(), latency_us(summary.responses.get(name).unwrap_or(all))))
        .collect();
    let mean = summary.seconds().map(|seconds| summary.answered() as f64 / seconds);
    let mut document = json!({
        "requests": summary.replayed.as_ref().map_or(summary.answered(), |replayed| replayed.sent),
        "throughput": {"mean": mean, "unit": "ops/s", "samples": summary.answered()},
        "seconds": summary.seconds(),
        "fidelity": summary.fidelity(),
        "findings": summary.findings(),
        "operations": counts,
        "missing": summary.missing,
        "latency_us": latency,
        "response_us": response,
        "processes": summary.processes,
        "clocks": summary.clocks.iter().map(HostClock::machine_form).collect::<Vec<_>>(),
        "complete": summary.is_complete(),
        "facts": summary.facts,
    });
    if mean.is_none() {
        document["throughput"]["reason"] = "no process reported its duration".into();
    }
    document
}
