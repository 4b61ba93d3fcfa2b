//! The result as text.

use comfy_table::Table;

use super::summary::KvSummary;
use crate::latency::latency_row;
use crate::number::number;

/// A row for each operation, then the rate.
pub(super) fn text(summary: &KvSummary) -> String {
    let mut text = latencies(summary).to_string();
    if let (Some(asked), Some(achieved)) = (summary.offered_rate(), summary.rate(summary.requests())) {
        text += &format!(
            "\n\n{} ops/s offered, {} achieved ({:.1} %), {} requests dropped",
            number(asked),
            number(achieved),
            100.0 * achieved / asked,
            summary.totals.dropped
        );
    }
    text
}

fn latencies(summary: &KvSummary) -> Table {
    let head = ["operation", "requests", "not found", "ops/s", "p50 µs", "p90 µs", "p99 µs", "p99.9 µs", "max µs"];
    let mut table = crate::table::table(&head, 1);
    for (name, all) in &summary.totals.operations {
        let rate = summary.rate(all.len()).map_or("-".to_owned(), |rate| format!("{rate:.0}"));
        let missing = summary.totals.missing.get(name).unwrap_or(&0).to_string();
        table.add_row(latency_row([name.clone(), all.len().to_string(), missing, rate], all));
        if let Some(response) = summary.totals.responses.get(name) {
            table.add_row(latency_row(
                [format!("{name}, response time"), response.len().to_string(), String::new(), String::new()],
                response,
            ));
        }
    }
    table
}
