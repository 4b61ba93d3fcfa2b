//! The result as text.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};
use manometer_measure::histogram::PERCENTILES;

use super::live::microseconds;
use super::summary::IoSummary;
use crate::fidelity::fidelity_text;

/// A row for each direction, then time, CPU and fidelity.
pub(super) fn text(summary: &IoSummary) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY);
    let percentiles = PERCENTILES.iter().map(|(name, _)| format!("{name} µs"));
    let header = ["", "requests", "IOPS", "MiB/s"].map(str::to_owned).into_iter().chain(percentiles);
    table.set_header(header.chain(["max µs".to_owned(), "retries".to_owned()]));
    for (name, direction) in summary.directions() {
        let mut row = vec![
            name.to_owned(),
            direction.requests.to_string(),
            format!("{:.0}", direction.requests as f64 / summary.seconds),
            format!("{:.1}", direction.mib_per_s(summary.seconds)),
        ];
        row.extend(PERCENTILES.iter().map(|(_, quantile)| microseconds(direction.latency.quantile_ns(*quantile))));
        row.push(microseconds(direction.latency.max_ns()));
        row.push(direction.retries.to_string());
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let cpu = summary.cpu_s_per_million().map_or("-".to_owned(), |cpu| format!("{cpu:.2}"));
    let interrupted = if summary.interrupted { ", interrupted" } else { "" };
    let (first, fidelity) = summary.fidelity().map_or_else(Default::default, |(fidelity, findings)| {
        let first: String = findings.iter().map(|finding| format!("{}\n\n", finding.text)).collect();
        (first, fidelity_text(&fidelity))
    });
    format!(
        "{first}{table}\n{:.2} s measured{interrupted}; {cpu} CPU seconds per million requests{fidelity}",
        summary.seconds
    )
}
