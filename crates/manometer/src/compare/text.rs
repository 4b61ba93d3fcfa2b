//! Comparisons as text.

use comfy_table::Cell;
use manometer_analysis::compare::{
    Comparison, Direction, MeanOverRuns, PerformanceChange, PhaseComparison, PhaseSeries, PressureComparison,
    SeriesComparison, Verdict,
};
use manometer_analysis::summary::IntervalEstimate;
use manometer_measure::plan::Settings;

use super::result::ComparisonResult;
use crate::number::number;
use crate::table::table;
use crate::text::findings;

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
            Cell::new(label(&phase.label, &phase.settings)),
            Cell::new(mean_over_runs(&phase.a)),
            Cell::new(mean_over_runs(&phase.b)),
            Cell::new(ratio(phase)),
            Cell::new(phase.pressure.as_ref().map_or_else(|| "–".to_owned(), |pressure| share(pressure.a))),
            Cell::new(phase.pressure.as_ref().map_or_else(|| "–".to_owned(), pressure_difference)),
            Cell::new(verdict(phase)),
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
    format!("{head}{rows}{missing}{}", findings(&pair.findings))
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
    format!("{head}{rows}{missing}{}", findings(&series.findings))
}

/// A line for each phase that was not compared, each after a line break.
fn not_compared(reason: &str, phases: &[String]) -> String {
    phases.iter().map(|phase| format!("\nnote: {reason}: {phase}")).collect()
}

/// The name of a phase in one line.
pub(super) fn phase_name(id: &str, label: &str, settings: &Settings) -> String {
    format!("{id}: {}", self::label(label, settings))
}

/// The result of one phase in a sentence.
pub(super) fn phase_sentence(phase: &PhaseComparison, pair: &Comparison) -> String {
    let unit = &pair.criterion.unit;
    let (a, b) = (mean_over_runs(&phase.a), mean_over_runs(&phase.b));
    format!("{}: A {a} {unit}, B {b} {unit}, B / A {}", verdict(phase), ratio(phase))
}

/// The result of one phase of a series in a sentence: since when it is worse, or its last change.
pub(super) fn series_sentence(phase: &PhaseSeries, series: &SeriesComparison) -> String {
    let from = phase.regression().or(phase.changes.last());
    let Some((change, current, ratio)) = from.and_then(|change| Some((change, phase.current()?, phase.ratio?))) else {
        return "no change found".to_owned();
    };
    format!(
        "{} since {}: from {} to {} {}, a ratio of {ratio:.3}",
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
    let plain = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
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

fn verdict(phase: &PhaseComparison) -> String {
    match (phase.verdict, phase.direction, phase.runs_needed, &phase.reason) {
        (Verdict::Same, ..) => "same".to_owned(),
        (Verdict::Different, change, ..) => change.map_or("different", direction).to_owned(),
        (Verdict::Unknown, _, _, Some(reason)) => format!("unknown: {reason}"),
        (Verdict::Unknown, _, Some(1), _) => "unknown: needs about 1 more run each".to_owned(),
        (Verdict::Unknown, _, Some(more), _) => format!("unknown: needs about {more} more runs each"),
        (Verdict::Unknown, ..) => {
            "unknown: the ratio is too close to the bound, 1000 more runs would not decide it".to_owned()
        }
    }
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
