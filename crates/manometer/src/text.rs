//! Summaries, phases and findings as text.

use comfy_table::Cell;
use manometer_analysis::summary::{IntervalEstimate, MeanEstimate, PhaseSummary, ScaleState, Summary};
use manometer_measure::event::{Finding, Severity};
use manometer_measure::plan::{PhaseKind, Plan};

use crate::number::{duration, number};
use crate::table::table;

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

/// The headline, a row per phase, the pressure scale, the findings.
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
    let mut text = format!("\n{}\n{table}", summary.headline);
    text.extend(scale(summary));
    text + &findings(&summary.findings)
}

/// The pressure scale, and the phases that are on no step of it; nothing where no phase with neighbours was tested.
fn scale(summary: &Summary) -> Option<String> {
    let compared =
        |phase: &PhaseSummary| phase.kind == PhaseKind::Pressure && phase.scale_state == Some(ScaleState::Tested);
    summary.phases.iter().find(|phase| compared(phase))?;
    let steps: Vec<String> = summary.scale.iter().map(|step| step.join(" = ")).collect();
    let untested: Vec<&str> = summary.untested.iter().map(|untested| untested.id.as_str()).collect();
    let rest = if untested.is_empty() { String::new() } else { format!("; untested: {}", untested.join(", ")) };
    Some(format!("\nPressure scale: {}{rest}", steps.join(" < ")))
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

/// The slowdown of each workload, and Jain's index.
fn fairness(phase: &PhaseSummary) -> String {
    let Some(fairness) = &phase.fairness else { return "–".to_owned() };
    let slowdown = fairness.slowdown.iter().map(|(name, slowdown)| match slowdown {
        Some(slowdown) => format!("{name} {slowdown:.2}"),
        None => format!("{name} –"),
    });
    let index = fairness.jain_index.map_or_else(|| "–".to_owned(), |index| format!("{index:.2}"));
    format!("{} ({index})", slowdown.collect::<Vec<_>>().join(", "))
}

/// A value without the quotes of a string.
pub fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
