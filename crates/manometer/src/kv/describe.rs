//! `manometer kv --describe`: the popularity of the records.

use manometer_workload::kv::{self, KvPlan, KvSettings, PopularityDescription};

use crate::exit_status::ExitStatus;
use crate::exit_status::wrong_request;
use crate::number::count;
use crate::output::Format;
use crate::table::table;
use crate::text::plain;

/// The width of a whole bar, in characters.
const BAR: usize = 40;
/// An eighth of a character more each.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Prints the popularity of the records of `settings`.
pub(super) fn print(settings: &KvSettings, format: Format) -> anyhow::Result<ExitStatus> {
    let description = match KvPlan::new(settings).and_then(|plan| kv::describe(&plan)) {
        Ok(description) => description,
        Err(error) => return Ok(wrong_request(anyhow::Error::from(error))),
    };
    format.print(|| &description, || text(&description))?;
    Ok(ExitStatus::Done)
}

fn text(description: &PopularityDescription) -> String {
    let mut table = table(&["most popular", "records", "requests", ""], 0);
    if let Some(column) = table.column_mut(3) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    for top in &description.top {
        table.add_row([
            percent(top.share_of_records),
            count(top.records as f64),
            format!("{:.2} %", 100.0 * top.share_of_requests),
            bar(top.share_of_requests),
        ]);
    }
    let exponent = description.exponent.map(|exponent| format!(", exponent {exponent}")).unwrap_or_default();
    let half = description.records_of_half;
    format!(
        "{}{exponent}, over {} records\n{table}\nHalf of the requests go to {} ({}).\nComputed {}.",
        plain(&serde_json::json!(description.distribution)),
        count(description.records as f64),
        if half == 1 { "one record".to_owned() } else { format!("{} records", count(half as f64)) },
        percent(half as f64 / description.records as f64),
        description.computed,
    )
}

/// A share in per cent with two significant digits.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let decimals = (1.0 - percent.log10().floor()).clamp(0.0, 12.0) as usize;
    let text = format!("{percent:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

fn bar(share: f64) -> String {
    let eighths = (share * (8 * BAR) as f64).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_short_and_bars_are_as_long() {
        assert_eq!(
            [0.5, 0.01, 0.000_1, 0.000_001, 0.123_4, 1.0].map(percent),
            ["50 %", "1 %", "0.01 %", "0.0001 %", "12 %", "100 %"]
        );
        assert_eq!([0.0, 0.5, 1.0].map(|share| bar(share).chars().count()), [0, BAR / 2, BAR]);
        assert_eq!(bar(1.0 / 8.0 / BAR as f64), "▏");
    }
}
