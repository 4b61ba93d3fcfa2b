//! Latency histograms as rows of a table and as JSON.

use manometer_measure::LatencyHistogram;
use manometer_measure::histogram::PERCENTILES;
use manometer_session::sample_totals::SampleTotals;
use serde_json::{Map, Value, json};

/// A row of a latency table: the first cells, then the percentiles.
pub fn latency_row<const N: usize>(begin: [String; N], all: &LatencyHistogram) -> Vec<String> {
    let mut row = begin.to_vec();
    row.extend(PERCENTILES.iter().map(|(_, quantile)| microseconds(all.quantile_ns(*quantile))));
    row.push(microseconds(all.max_ns()));
    row
}

/// Adds the number of requests and the latencies of each operation to a document.
pub fn add_operations(document: &mut Value, totals: &SampleTotals) {
    let by_operation = |value: &dyn Fn(&str, &LatencyHistogram) -> Value| -> Value {
        totals.operations.iter().map(|(name, all)| (name.clone(), value(name, all))).collect::<Map<_, _>>().into()
    };
    document["operations"] = by_operation(&|_, all| all.len().into());
    document["missing"] = json!(totals.missing);
    document["latency_us"] = by_operation(&|_, all| latency_us(all));
    // A request of a closed loop is due when it is sent: its response time is its service time.
    document["response_us"] = by_operation(&|name, all| latency_us(totals.responses.get(name).unwrap_or(all)));
}

/// Percentiles in microseconds.
fn latency_us(all: &LatencyHistogram) -> Value {
    let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
    let named = PERCENTILES.iter().map(|(name, quantile)| ((*name).to_owned(), json!(us(all.quantile_ns(*quantile)))));
    let mut latency: Map<_, _> = named.collect();
    latency.insert("max".to_owned(), json!(us(all.max_ns())));
    latency.insert("samples".to_owned(), all.len().into());
    if all.is_empty() {
        latency.insert("reason".to_owned(), "no such request was sent".into());
    }
    latency.into()
}

pub fn microseconds(ns: Option<u64>) -> String {
    ns.map_or("-".to_owned(), |ns| format!("{:.2}", ns as f64 / 1e3))
}
