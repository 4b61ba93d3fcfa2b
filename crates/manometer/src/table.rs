//! Tables for people on a terminal.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};
use manometer_analysis::summary::{IntervalEstimate, MeanEstimate, PhaseSummary, Summary};
use manometer_measure::event::{Finding, Severity};
use manometer_measure::plan::{PhaseKind, Plan};

/// An empty table with a head; every column but the first `left` ones is aligned to the right.
pub fn table(head: &[&str], left: usize) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_header(head);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_cell_alignment(if index < left { CellAlignment::Left } else { CellAlignment::Right });
    }
    table
}

/// The phases of a plan.
pub fn phases(plan: &Plan) -> String {
    let mut table = table(&["phase", "", "running", "settle", "measured"], 3);
    for phase in &plan.phases {
        table.add_row([
            phase.id.clone(),
            phase.label.clone(),
            phase.running.join(", "),
            duration(phase.settle_s),
            duration(phase.duration_s),
        ]);
    }
    table.to_string()
}

/// What a run showed: the headline, a row per phase, the scale, the findings.
pub fn summary(summary: &Summary) -> String {
    let unit = &summary.criterion.unit;
    let metric = format!("{} ({unit})", summary.criterion.metric);
    let fair = summary.phases.iter().any(|phase| phase.fairness.is_some());
    let mut head = vec!["phase", "", &metric, "pressure", "p99 read (ms)", "neighbours"];
    head.extend(fair.then_some("slowdown (fairness)"));
    let mut table = table(&head, 2);
    for phase in &summary.phases {
        let mut row = vec![
            Cell::new(&phase.id),
            Cell::new(&phase.label),
            Cell::new(estimate(&phase.performance)),
            Cell::new(if summary.is_baseline(phase) { "–".to_owned() } else { pressure(&phase.pressure) }),
            Cell::new(p99(phase)),
            Cell::new(neighbours(phase)),
        ];
        row.extend(fair.then(|| Cell::new(fairness(phase))));
        table.add_row(row);
    }
    let scale: Vec<String> = summary.scale.iter().map(|step| step.join(" = ")).collect();
    let mut text = format!("\n{}\n{table}", summary.headline);
    let compared = |phase: &PhaseSummary| phase.kind == PhaseKind::Pressure && phase.pressure.ci_low.is_some();
    // Without intervals all phases share a step because nothing is known, which is no result to print.
    if summary.phases.iter().any(compared) {
        text += &format!("\nPressure scale: {}", scale.join(" < "));
    }
    text + &findings(&summary.findings)
}

/// A line for each finding, each after a line break.
pub fn findings(findings: &[Finding]) -> String {
    let line = |finding: &Finding| {
        let severity = match finding.severity {
            Severity::Info => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let phase = finding.phase.as_ref().map(|phase| format!(" ({phase})")).unwrap_or_default();
        format!("\n{severity}: {}{phase}", finding.text)
    };
    findings.iter().map(line).collect()
}

fn estimate(estimate: &MeanEstimate) -> String {
    match (estimate.mean, estimate.ci_low, estimate.ci_high) {
        (Some(mean), Some(low), Some(high)) => format!("{} ± {}", number(mean), number((high - low) / 2.0)),
        (Some(mean), _, _) => number(mean),
        _ => "not measured".to_owned(),
    }
}

fn pressure(ratio: &IntervalEstimate) -> String {
    match (ratio.value, ratio.ci_low, ratio.ci_high) {
        (Some(value), Some(low), Some(high)) => format!("{} [{low:.2}, {high:.2}]", share(value)),
        (Some(value), _, _) => share(value),
        _ => "–".to_owned(),
    }
}

/// Two decimals, and no sign before a zero.
fn share(value: f64) -> String {
    let text = format!("{value:.2}");
    if text == "-0.00" { "0.00".to_owned() } else { text }
}

fn p99(phase: &PhaseSummary) -> String {
    let p99 = phase.latency_us.get("read").and_then(|latency| latency.p99);
    p99.map_or_else(|| "–".to_owned(), |us| format!("{:.2}", us / 1e3))
}

fn neighbours(phase: &PhaseSummary) -> String {
    let of = |(name, one): (&String, &manometer_analysis::summary::NeighbourSummary)| {
        let mean = one.performance.mean?;
        Some(format!("{name} {} {}", number(mean), one.performance.unit))
    };
    phase.neighbours.iter().filter_map(of).collect::<Vec<_>>().join(", ")
}

/// By workload what it reaches alone by what it reaches here, and Jain's index of that.
fn fairness(phase: &PhaseSummary) -> String {
    let Some(fairness) = &phase.fairness else { return "–".to_owned() };
    let slowdown = fairness.slowdown.iter().map(|(name, slowdown)| match slowdown {
        Some(slowdown) => format!("{name} {slowdown:.2}"),
        None => format!("{name} –"),
    });
    let index = fairness.jain_index.map_or_else(|| "–".to_owned(), |index| format!("{index:.2}"));
    format!("{} ({index})", slowdown.collect::<Vec<_>>().join(", "))
}

/// A stretch of time in whole seconds: `1h 30m`.
pub fn duration(seconds: f64) -> String {
    humantime::format_duration(std::time::Duration::from_secs(seconds.round() as u64)).to_string()
}

/// A number with about three significant digits and thousands set apart.
pub fn number(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 100.0 {
        let digits = format!("{:.0}", magnitude);
        let groups: Vec<&str> =
            digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap_or_default()).collect();
        format!("{}{}", if value < 0.0 { "−" } else { "" }, groups.join(" "))
    } else if magnitude >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// Three significant digits, of whole numbers all.
pub fn significant(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 100.0 || value == 0.0 {
        return number(value);
    }
    let decimals = (2.0 - magnitude.log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{magnitude:.decimals$}");
    format!("{}{text}", if value < 0.0 { "−" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_readable() {
        let shown = [1_234_567.8, 123.4, 12.34, 1.234, 0.0, -4321.0].map(number);
        assert_eq!(shown, ["1 234 568", "123", "12.3", "1.23", "0.00", "−4 321"]);
    }

    #[test]
    fn small_numbers_keep_three_digits() {
        let shown = [0.0545, 12.34, -0.5, 4321.0, 0.0, 0.000123].map(significant);
        assert_eq!(shown, ["0.0545", "12.3", "−0.500", "4 321", "0.00", "0.000123"]);
    }
}
