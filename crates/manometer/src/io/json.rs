//! The result as JSON.

use manometer_measure::histogram::PERCENTILES;
use manometer_workload::io::IoJob;
use serde_json::{Map, Value, json};

use super::summary::{Direction, IoSummary};

/// One document.
pub(super) fn document(summary: &IoSummary, job: &IoJob) -> Value {
    let mut document = json!({
        "iops": summary.requests() as f64 / summary.seconds,
        "cpu_s_per_million": summary.cpu_s_per_million(),
        "requests": summary.requests(),
        "seconds": summary.seconds,
        "cpu_s": summary.cpu_s,
        "fdatasyncs": summary.fdatasyncs,
        "interrupted": summary.interrupted,
        "seed": job.seed,
        "settings": job.settings,
        "facts": summary.facts,
        "changes": summary.changes,
        "refusals": summary.refusals,
    });
    if let Some((fidelity, findings)) = summary.fidelity() {
        document["fidelity"] = json!(fidelity);
        document["findings"] = json!(findings);
    }
    if !summary.engine.is_empty() {
        document["engine"] = json!(summary.engine);
    }
    let mut latency = Map::new();
    for (name, direction) in summary.directions() {
        document[format!("{name}_iops")] = json!(direction.requests as f64 / summary.seconds);
        document[format!("{name}_mib_per_s")] = json!(direction.mib_per_s(summary.seconds));
        document[format!("{name}_retries")] = json!(direction.retries);
        latency.insert(name.to_owned(), latency_us(direction));
    }
    document["latency_us"] = Value::Object(latency);
    document
}

/// Percentiles in microseconds; null where nothing was measured.
fn latency_us(direction: &Direction) -> Value {
    let microseconds = |ns: Option<u64>| json!(ns.map(|ns| ns as f64 / 1e3));
    let mut latency: Map<String, Value> = PERCENTILES
        .iter()
        .map(|(name, quantile)| ((*name).to_owned(), microseconds(direction.latency.quantile_ns(*quantile))))
        .collect();
    latency.insert("max".to_owned(), microseconds(direction.latency.max_ns()));
    latency.insert("mean".to_owned(), json!(direction.latency.mean_ns().map(|ns| ns / 1e3)));
    latency.insert("samples".to_owned(), json!(direction.latency.len()));
    Value::Object(latency)
}
