//! The result as JSON.

use serde_json::{Value, json};

use super::summary::KvSummary;
use crate::latency::add_operations;

/// One document.
pub(super) fn document(summary: &KvSummary) -> Value {
    let mut document = json!({
        "throughput": {"mean": summary.rate(summary.requests()), "unit": "ops/s", "samples": summary.totals.samples},
        "seconds": summary.totals.length_ns as f64 / 1e9,
        "loop": summary.pace.name(),
        "offered": summary.offered_rate(),
        "asked": summary.offered_rate(),
        "dropped": summary.totals.dropped,
        "facts": summary.facts,
        "state": summary.state,
    });
    add_operations(&mut document, &summary.totals);
    if summary.totals.length_ns == 0 {
        document["throughput"]["reason"] = "the run ended before its first request".into();
    }
    document
}
