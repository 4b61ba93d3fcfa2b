//! Comparisons as text.

use std::collections::BTreeSet;

use comfy_table::Cell;
use manometer_analysis::compare::{
    Comparison, ComparisonResult, Direction, GateResult, MeanOverRuns, PerformanceChange, PhaseComparison, PhaseSeries,
    PhaseVerdict, PressureComparison, SeriesComparison,
};
use manometer_analysis::needed_length::duration as at_least;
use manometer_analysis::summary::IntervalEstimate;
use manometer_analysis::verdict::{Grade, Verdict};
use manometer_measure::plan::Settings;

use crate::number::number;
use crate::table::table;
use crate::text::{plain, verdict_without_report};

/// The comparison of a pair or of a series.
pub(super) fn text(result: &ComparisonResult) -> String {
    match result {
        ComparisonResult::Pair(comparison) => pair(comparison),
        ComparisonResult::Series(comparison) => series(comparison),
    }
}

/// A and B: a row per phase, then the findings.
fn pair(pair: &Comparison) -> String {
    let (a, b) = (format!("A ({})", pair.criterion.unit), format!("B ({})", pair.criterion.unit));
    let mut rows = table(&["phase", "", &a, &b, "B / A", "pressure A", "pressure B − A", "verdict"], 2);
    for phase in &pair.phases {
        rows.add_row([
            Cell::new(&phase.id),
            Cell::new(pair_label(phase)),
            Cell::new(mean_over_runs(&phase.a)),
            Cell::new(mean_over_runs(&phase.b)),
            Cell::new(ratio(phase)),
            Cell::new(phase.pressure.as_ref().map_or_else(|| "–".to_owned(), |pressure| share(pressure.a))),
            Cell::new(phase.pressure.as_ref().map_or_else(|| "–".to_owned(), pressure_difference)),
            Cell::new(phase_verdict(phase)),
        ]);
    }
    let head = format!(
        "A: {}\nB: {}\nMetric: {}. Differences of less than {} are ignored.\n",
        pair.a.display(),
        pair.b.display(),
        pair.criterion.metric,
        percent(pair.bound)
    );
    let missing = not_compared("not compared, only one side has", &pair.not_compared);
    let gate = gate_sentence(pair.gate(), &pair.verdict, pair.bound);
    format!("{head}{rows}{missing}\n\n{gate}{}", verdict_without_report(&pair.verdict, &pair.findings))
}

/// What the gate says, as the exit status does.
fn gate_sentence(gate: GateResult, verdict: &Verdict, bound: f64) -> String {
    let bound = percent(bound);
    match gate {
        GateResult::NoWorse => format!("No worse: no phase loses more than {bound}."),
        GateResult::Worse => format!("Worse: at least one phase loses more than {bound}."),
        GateResult::Undecided if verdict.grade == Grade::Void => {
            let clause = verdict.decisive().map(|reason| format!(": {}", reason.clause)).unwrap_or_default();
            format!("Undecided: the result is void{clause}.")
        }
        GateResult::Undecided => {
            format!("Undecided: not every phase is shown to lose less than {bound}, and none to lose more.")
        }
    }
}

/// A series: a row per change, then the findings.
fn series(series: &SeriesComparison) -> String {
    let unit = &series.criterion.unit;
    let (before, after) = (format!("before ({unit})"), format!("after ({unit})"));
    let mut rows = table(&["phase", "", "changed at", &before, &after, "ratio", "p", "verdict"], 3);
    for phase in &series.phases {
        let label = label(&phase.label, &phase.settings);
        if phase.changes.is_empty() {
            rows.add_row([phase.id.as_str(), &label, "no change found"]);
        }
        for change in &phase.changes {
            rows.add_row([
                phase.id.clone(),
                label.clone(),
                change.recording.display().to_string(),
                number(change.before),
                number(change.after),
                format!("{:.3}", change.ratio),
                p_value(change.p_value),
                change_text(change, series),
            ]);
        }
    }
    let head = format!(
        "{} recordings, {} to {}.\nMetric: {}. Changes of less than {} are ignored.\n",
        series.recordings.len(),
        series.recordings.first().map(|path| path.display().to_string()).unwrap_or_default(),
        series.recordings.last().map(|path| path.display().to_string()).unwrap_or_default(),
        series.criterion.metric,
        percent(series.bound)
    );
    let missing = not_compared("not compared", &series.not_compared);
    let latest: String = series.phases.iter().map(|phase| latest_line(phase, series)).collect();
    let gate = gate_sentence(series.gate(), &series.verdict, series.bound);
    format!("{head}{rows}{missing}\n{latest}\n{gate}{}", verdict_without_report(&series.verdict, &series.findings))
}

/// The last recording against those since the last change, in a line.
fn latest_line(phase: &PhaseSeries, series: &SeriesComparison) -> String {
    let name = phase_name(&phase.id, &phase.label, &phase.settings);
    match &phase.latest {
        Some(latest) => format!("\nThe last recording, {name}: {}", latest_sentence(latest, series)),
        None => String::new(),
    }
}

fn latest_sentence(latest: &PhaseComparison, series: &SeriesComparison) -> String {
    let unit = &series.criterion.unit;
    let (a, b) = (mean_over_runs(&latest.a), mean_over_runs(&latest.b));
    format!("{}: before {a} {unit}, last {b} {unit}, ratio {}", phase_verdict(latest), ratio(latest))
}

/// A line for each phase that was not compared, each after a line break.
fn not_compared(reason: &str, phases: &[String]) -> String {
    phases.iter().map(|phase| format!("\nnote: {reason}: {phase}")).collect()
}

/// The name of a phase in one line.
pub(super) fn phase_name(id: &str, label: &str, settings: &Settings) -> String {
    format!("{id}: {}", self::label(label, settings))
}

/// The name of a phase of a pair in one line.
pub(super) fn pair_phase_name(phase: &PhaseComparison) -> String {
    format!("{}: {}", phase.id, pair_label(phase))
}

/// The label of a phase with what a sweep set, on both sides where that differs: `no neighbour, n.threads = 4 in A, 8 in B`.
fn pair_label(phase: &PhaseComparison) -> String {
    let Some(settings_b) = &phase.settings_b else { return label(&phase.label, &phase.settings) };
    let keys: BTreeSet<&String> = phase.settings.keys().chain(settings_b.keys()).collect();
    let value = |settings: &Settings, key: &str| settings.get(key).map_or_else(|| "not swept".to_owned(), plain);
    let both = keys.into_iter().map(|key| match (value(&phase.settings, key), value(settings_b, key)) {
        (a, b) if a == b => format!("{key} = {a}"),
        (a, b) => format!("{key} = {a} in A, {b} in B"),
    });
    std::iter::once(phase.label.clone()).chain(both).collect::<Vec<_>>().join(", ")
}

/// The result of one phase in a sentence.
pub(super) fn phase_sentence(phase: &PhaseComparison, pair: &Comparison) -> String {
    let unit = &pair.criterion.unit;
    let (a, b) = (mean_over_runs(&phase.a), mean_over_runs(&phase.b));
    format!("{}: A {a} {unit}, B {b} {unit}, B / A {}", phase_verdict(phase), ratio(phase))
}

/// The result of one phase of a series in a sentence: since when it is worse, or its last change.
pub(super) fn series_sentence(phase: &PhaseSeries, series: &SeriesComparison) -> String {
    let latest = phase.latest.as_ref().map_or_else(
        || "the last recording has none before it to compare with".to_owned(),
        |latest| format!("the last recording is {}", latest_sentence(latest, series)),
    );
    let from = phase.regression().or(phase.changes.last());
    let Some((change, current, ratio)) = from.and_then(|change| Some((change, phase.current()?, phase.ratio?))) else {
        return format!("no change found; {latest}");
    };
    format!(
        "{} since {}: from {} to {} {}, a ratio of {ratio:.3}; {latest}",
        phase.direction.map_or("different", direction),
        change.recording.display(),
        number(change.before),
        number(current),
        series.criterion.unit,
    )
}

/// The direction of a change, and where the performance recovered.
fn change_text(change: &PerformanceChange, series: &SeriesComparison) -> String {
    match change.recovered_at.and_then(|index| series.recordings.get(index)) {
        Some(recording) => format!("worse, recovered at {}", recording.display()),
        None => direction(change.direction).to_owned(),
    }
}

/// A share in per cent without trailing zeros.
fn percent(share: f64) -> String {
    let text = format!("{:.3}", 100.0 * share);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

fn label(label: &str, settings: &Settings) -> String {
    let swept = settings.iter().map(|(key, value)| format!("{key} = {}", plain(value)));
    std::iter::once(label.to_owned()).chain(swept).collect::<Vec<_>>().join(", ")
}

fn mean_over_runs(performance: &MeanOverRuns) -> String {
    match (performance.mean, performance.runs) {
        (None, _) => "not measured".to_owned(),
        (Some(mean), 1) => number(mean),
        (Some(mean), runs) => format!("{} ({runs} runs)", number(mean)),
    }
}

fn ratio(phase: &PhaseComparison) -> String {
    match (phase.ratio, phase.ci_low, phase.ci_high) {
        (Some(ratio), Some(low), Some(high)) => format!("{ratio:.3} [{low:.3}, {high:.3}]"),
        (Some(ratio), _, _) => format!("{ratio:.3}"),
        _ => "–".to_owned(),
    }
}

fn share(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"))
}

fn pressure_difference(pressure: &PressureComparison) -> String {
    match &pressure.difference {
        IntervalEstimate { value: Some(value), ci_low: Some(low), ci_high: Some(high), .. } => {
            format!("{value:+.2} [{low:+.2}, {high:+.2}]")
        }
        IntervalEstimate { value: Some(value), .. } => format!("{value:+.2}"),
        _ => "–".to_owned(),
    }
}

fn phase_verdict(phase: &PhaseComparison) -> String {
    match (phase.verdict, phase.gate, &phase.reason) {
        (PhaseVerdict::Same, ..) => "same".to_owned(),
        (PhaseVerdict::Different, ..) => phase.direction.map_or("different", direction).to_owned(),
        (PhaseVerdict::Unknown, GateResult::NoWorse, _) => "no worse".to_owned(),
        (PhaseVerdict::Unknown, GateResult::Worse, _) => "WORSE".to_owned(),
        (PhaseVerdict::Unknown, GateResult::Undecided, Some(reason)) => {
            format!("undecided: {reason}{}", lengths(phase))
        }
        (PhaseVerdict::Unknown, GateResult::Undecided, None) => match (phase.needed_s, phase.runs_needed) {
            (None, None) => {
                "undecided: the ratio is too close to the bound, 1000 more runs would not decide it".to_owned()
            }
            _ => format!("undecided{}", lengths(phase)),
        },
    }
}

/// What would decide the gate: longer phases, or more runs.
fn lengths(phase: &PhaseComparison) -> String {
    // Without an interval, the length is the shortest that has one.
    let about = if phase.ci_low.is_some() { "about" } else { "at least" };
    let length = match (phase.needed_rounds, phase.needed_a_s.map(at_least), phase.needed_b_s.map(at_least)) {
        (Some(rounds), ..) => Some(format!("{about} {rounds} rounds")),
        (None, Some(a), Some(b)) if a == b => Some(format!("phases of {about} {a}")),
        (None, Some(a), Some(b)) => Some(format!("phases of {about} {a} in A and {b} in B")),
        (None, Some(a), None) => Some(format!("a phase of {about} {a} in A")),
        (None, None, Some(b)) => Some(format!("a phase of {about} {b} in B")),
        (None, None, None) => None,
    };
    let runs = phase.runs_needed.map(|more| match more {
        1 => "about 1 more run each".to_owned(),
        more => format!("about {more} more runs each"),
    });
    let options: Vec<String> = length.into_iter().chain(runs).collect();
    if options.is_empty() { String::new() } else { format!("; needs {}", options.join(" or ")) }
}

fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Better => "better",
        Direction::Worse => "WORSE",
    }
}

fn p_value(p_value: f64) -> String {
    if p_value < 1e-6 { "< 0.000001".to_owned() } else { format!("{p_value:.6}") }
}
