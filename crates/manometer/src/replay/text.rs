//! The result as text.

use super::summary::TraceReplaySummary;
use crate::fidelity::fidelity_text;
use crate::latency::latency_row;
use crate::number::number;

/// The findings, a row for each operation, the throughput and the fidelity.
pub(super) fn text(summary: &TraceReplaySummary) -> String {
    let mut text = String::new();
    for finding in summary.findings() {
        text += &format!("{}\n\n", finding.text);
    }
    text += &latencies(summary);
    if let Some(seconds) = summary.seconds() {
        text += &format!(
            "\n\n{} requests in {seconds:.3} s: {} ops/s",
            summary.answered(),
            number(summary.answered() as f64 / seconds)
        );
    }
    if let Some(fidelity) = summary.fidelity() {
        text += &fidelity_text(&fidelity);
    }
    text
}

fn latencies(summary: &TraceReplaySummary) -> String {
    let head = ["operation", "requests", "not found", "p50 µs", "p90 µs", "p99 µs", "p99.9 µs", "max µs"];
    let mut table = crate::table::table(&head, 1);
    for (name, all) in &summary.totals.operations {
        let missing = summary.totals.missing.get(name).unwrap_or(&0).to_string();
        table.add_row(latency_row([name.clone(), all.len().to_string(), missing], all));
        if let Some(response) = summary.totals.responses.get(name) {
            let begin = [format!("{name}, response time"), response.len().to_string(), String::new()];
            table.add_row(latency_row(begin, response));
        }
    }
    table.to_string()
}
