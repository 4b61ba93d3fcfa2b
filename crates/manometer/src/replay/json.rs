//! The result as JSON.

use manometer_session::group::HostClock;
use serde_json::{Value, json};

use super::summary::TraceReplaySummary;
use crate::latency::add_operations;

/// One document.
pub(super) fn document(summary: &TraceReplaySummary) -> Value {
    let mean = summary.seconds().map(|seconds| summary.answered() as f64 / seconds);
    let mut document = json!({
        "requests": summary.replayed.as_ref().map_or(summary.answered(), |replayed| replayed.sent),
        "throughput": {"mean": mean, "unit": "ops/s", "samples": summary.answered()},
        "seconds": summary.seconds(),
        "fidelity": summary.fidelity(),
        "sent": summary.sent_as(),
        "in_flight_max": summary.replayed.as_ref().map(|replayed| replayed.in_flight_max).filter(|most| *most > 0),
        "findings": summary.findings(),
        "processes": summary.processes,
        "clients": summary.clients(),
        "start_skew_us": summary.start_skew_ns().map(|(skew_ns, within_ns)| json!({
            "value": skew_ns as f64 / 1e3, "within": within_ns as f64 / 1e3,
        })),
        "clocks": summary.clocks.iter().map(HostClock::machine_form).collect::<Vec<_>>(),
        "complete": summary.is_complete(),
        "facts": summary.facts,
    });
    add_operations(&mut document, &summary.totals);
    if mean.is_none() {
        document["throughput"]["reason"] = "no process reported its duration".into();
    }
    document
}
