//! Summaries, phases and findings as text.

use std::collections::BTreeMap;
use std::time::Duration;

use comfy_table::{Cell, Table};
use manometer_analysis::summary::{
    IntervalEstimate, LatencySummary, MeanEstimate, PhaseSummary, RunSummary, ScaleState,
};
use manometer_analysis::verdict::{GoalResult, Reason, Verdict};
use manometer_measure::Span;
use manometer_measure::event::{Finding, Severity};
use manometer_measure::plan::{InterleavedRounds, PhaseKind, Plan};

use crate::number::{gap, number};
use crate::table::table;

/// The phases of a plan.
pub fn phases(plan: &Plan) -> String {
    let mut table = table(&["phase", "", "running", "settle", "measured"], 3);
    for phase in &plan.phases {
        table.add_row([
            phase.id.clone(),
            phase.label.clone(),
            phase.running.join(", "),
            span(phase.settle_s).to_string(),
            span(phase.duration_s).to_string(),
        ]);
    }
    let rounds = plan.interleaved.as_ref().map(rounds).unwrap_or_default();
    format!("{table}{rounds}")
}

fn span(seconds: f64) -> Span {
    Span(Duration::try_from_secs_f64(seconds).unwrap_or_default())
}

/// How the phases of an interleaved plan take turns.
fn rounds(rounds: &InterleavedRounds) -> String {
    let mut phases = rounds.orders.first().cloned().unwrap_or_default();
    phases.sort();
    format!(
        "\n{} rounds; each round measures {} in random order: blocks of {}, of which the first {} are washout.",
        rounds.rounds,
        phases.join(", "),
        span(rounds.block_s),
        span(rounds.washout_s)
    )
}

/// The headline, a row per phase, the pressure scale, the goal, and the verdict with its reasons.
pub fn summary(summary: &RunSummary) -> String {
    let table = phase_table(summary);
    let mut text = format!("\n{}\n{table}", summary.headline);
    let needed = summary.longest_needed();
    text.extend(needed.map(|(phase, needed)| format!("\nIntervals: {}; {phase} needs most.", needed.reason)));
    text.extend(scale(summary));
    text += &summary.goal.as_ref().map(goal).unwrap_or_default();
    format!("{text}\n{}", verdict(&summary.verdict, &summary.findings))
}

fn phase_table(summary: &RunSummary) -> Table {
    let unit = &summary.criterion.unit;
    let metric = format!("{} ({unit})", summary.criterion.metric);
    let operations = latency_columns(summary);
    let companion = summary.companion();
    let fair = summary.phases.iter().any(|phase| phase.fairness.is_some());
    // Where neighbours alone were measured, they alone are shown.
    let has_performance = summary.phases.iter().any(|phase| phase.performance.mean.is_some())
        || summary.phases.iter().all(|phase| neighbours(phase).is_empty());
    let mut head = vec!["phase".to_owned(), String::new()];
    head.extend(has_performance.then_some([metric, "pressure".to_owned()]).into_iter().flatten());
    head.extend(companion.map(|metric| format!("pressure ({metric})")));
    head.extend(operations.iter().map(|(name, kind)| format!("p99 {name}{} (ms)", kind.suffix())));
    head.push("neighbours".to_owned());
    head.extend(fair.then(|| "slowdown (fairness)".to_owned()));
    let mut table = table(&head.iter().map(String::as_str).collect::<Vec<_>>(), 2);
    for phase in &summary.phases {
        let own = |text: String| if summary.is_baseline(phase) { "–".to_owned() } else { text };
        let mut row = vec![phase.id.clone(), phase.label.clone()];
        let result = has_performance.then(|| [estimate(&phase.performance), own(pressure(&phase.pressure))]);
        row.extend(result.into_iter().flatten());
        row.extend(companion.map(|metric| own(phase.pressures.get(metric).map_or_else(gap, pressure))));
        row.extend(operations.iter().map(|(name, kind)| p99(kind.of(phase).get(*name))));
        row.push(neighbours(phase));
        row.extend(fair.then(|| fairness(phase)));
        table.add_row(row.into_iter().map(Cell::new));
    }
    table
}

/// Service times or response times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LatencyKind {
    Service,
    Response,
}

impl LatencyKind {
    fn of(self, phase: &PhaseSummary) -> &BTreeMap<String, LatencySummary> {
        match self {
            Self::Service => &phase.latency_us,
            Self::Response => &phase.response_us,
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::Service => "",
            Self::Response => " response",
        }
    }
}

/// The main operations, each with its service times and, in an open loop, its response times.
fn latency_columns(summary: &RunSummary) -> Vec<(&str, LatencyKind)> {
    let columns = summary.main_operations().into_iter().flat_map(|name| {
        let has_response = summary.phases.iter().any(|phase| phase.response_us.contains_key(name));
        let response = has_response.then_some((name, LatencyKind::Response));
        std::iter::once((name, LatencyKind::Service)).chain(response)
    });
    columns.collect()
}

/// Whether the goal is met, and for undecided phases what would decide it.
fn goal(goal: &GoalResult) -> String {
    let limit = format!("a pressure of at most {:.2} in every phase", goal.pressure);
    let ids = |met: Option<bool>| -> String {
        let phases = goal.phases.iter().filter(|phase| phase.met == met).map(|phase| phase.id.as_str());
        phases.collect::<Vec<_>>().join(", ")
    };
    match goal.met {
        Some(true) => format!("\n\nGoal met: {limit}."),
        Some(false) => format!("\n\nGoal missed: {limit}; above it: {}.", ids(Some(false))),
        None => {
            let reason = goal.reason.as_deref().unwrap_or("no phase decides it");
            format!("\n\nGoal undecided: {limit}; {reason}.")
        }
    }
}

/// The most reasons of a verdict that are printed.
const MAX_REASONS: usize = 3;

/// The grade, its first reasons, and how many more findings there are and where; after a line break.
pub fn verdict(verdict: &Verdict, findings: &[Finding]) -> String {
    verdict_with_rest(verdict, findings, "in the report and with `--format json`")
}

/// The same, for a result without a report.
pub fn verdict_without_report(verdict: &Verdict, findings: &[Finding]) -> String {
    verdict_with_rest(verdict, findings, "with `--format json`")
}

/// The same, where the other findings are at the place `rest`.
fn verdict_with_rest(verdict: &Verdict, findings: &[Finding], rest: &str) -> String {
    let shown: Vec<&Reason> = verdict.reasons.iter().take(MAX_REASONS).collect();
    let lines: String =
        shown.iter().enumerate().map(|(index, reason)| format!("\n  {}. {}", index + 1, reason.text)).collect();
    let more = match findings.len().saturating_sub(shown.len()) {
        0 => String::new(),
        1 => format!("\n  1 more finding: {rest}."),
        more => format!("\n  {more} more findings: {rest}."),
    };
    format!("\n{}.{lines}{more}", verdict.title())
}

/// The signs of the pressure scale.
const SCALE_LEGEND: &str = "  (`<`: differs by a test corrected for all pairs, `~`: does not differ significantly)";

/// The pressure scale, and the phases that are on no step of it; nothing where no phase with neighbours was tested.
fn scale(summary: &RunSummary) -> Option<String> {
    let compared =
        |phase: &PhaseSummary| phase.kind == PhaseKind::Pressure && phase.scale_state == Some(ScaleState::Tested);
    summary.phases.iter().find(|phase| compared(phase))?;
    let steps: Vec<String> = summary.scale.iter().map(|step| step.join(" ~ ")).collect();
    let untested: Vec<&str> = summary.untested.iter().map(|untested| untested.id.as_str()).collect();
    let rest = if untested.is_empty() { String::new() } else { format!("; untested: {}", untested.join(", ")) };
    Some(format!("\nPressure scale: {}{rest}\n{SCALE_LEGEND}", steps.join(" < ")))
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
        (Some(value), _, _) => format!("{} untested", share(value)),
        _ => "–".to_owned(),
    }
}

/// Two decimals, and no sign before a zero.
fn share(value: f64) -> String {
    let text = format!("{value:.2}");
    if text == "-0.00" { "0.00".to_owned() } else { text }
}

fn p99(latency: Option<&LatencySummary>) -> String {
    latency.and_then(|latency| latency.p99).map_or_else(gap, |us| format!("{:.2}", us / 1e3))
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
