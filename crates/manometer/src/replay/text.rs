//! The result as text.

use manometer_measure::SentAs;

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
    if let Some((skew_ns, within_ns)) = summary.start_skew_ns() {
        let (skew_us, within_us) = (skew_ns as f64 / 1e3, within_ns as f64 / 1e3);
        text += &format!("\nthe clients began within {skew_us:.0} µs of each other (clocks: ± {within_us:.0} µs)");
    }
    if let Some(fidelity) = summary.fidelity() {
        text += &fidelity_text(&fidelity);
    }
    text += &sent_as(summary.sent_as());
    text
}

/// What was sent as recorded and what otherwise, after an empty line; nothing where nothing is known.
fn sent_as(rows: &[SentAs]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut table = crate::table::table(&["sent", "as recorded", "otherwise", "left out", "how"], 1);
    for row in rows {
        let counts = [row.as_recorded, row.otherwise, row.left_out].map(|count| count.to_string());
        table.add_row([&row.what, &counts[0], &counts[1], &counts[2], &row.how]);
    }
    format!("\n\n{table}")
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
