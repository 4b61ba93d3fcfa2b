//! Comparisons for people.

use comfy_table::Cell;
use manometer_analysis::compare::{
    ChangeOfPhase, Comparison, Direction, Interval, PhaseComparison, PhaseSeries, Pressures, Reached, SeriesComparison,
    Verdict,
};
use manometer_measure::plan::Settings;

use crate::table::{findings, number, table};

/// A and B: a row per phase, then what must be known.
pub(super) fn pair(pair: &Comparison) -> String {
    let metric = |side: &str| format!("{side} ({})", pair.criterion.unit);
    let (a, b) = (metric("A"), metric("B"));
    let mut rows = table(&["phase", "", &a, &b, "B / A", "pressure A", "pressure B − A", "verdict"], 2);
    for phase in &pair.phases {
        rows.add_row([
            Cell::new(&phase.id),
            Cell::new(label(&phase.label, &phase.settings)),
            Cell::new(reached(&phase.a)),
            Cell::new(reached(&phase.b)),
            Cell::new(ratio(phase)),
            Cell::new(phase.pressure.as_ref().map_or_else(|| "–".to_owned(), |pressure| share(pressure.a))),
            Cell::new(phase.pressure.as_ref().map_or_else(|| "–".to_owned(), pressure_difference)),
            Cell::new(verdict(phase)),
        ]);
    }
    let head = format!(
        "A: {}\nB: {}\nThe {} of each phase; differences of less than {} do not matter.\n",
        pair.a.display(),
        pair.b.display(),
        pair.criterion.metric,
        percent(pair.bound)
    );
    let missing = not_compared("not compared, the other has none such", &pair.not_compared);
    format!("{head}{rows}{missing}{}", findings(&pair.findings))
}

/// A series: a row per change, then what must be known.
pub(super) fn series(series: &SeriesComparison) -> String {
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
                way(change, series),
            ]);
        }
    }
    let head = format!(
        "{} recordings, {} to {}.\nThe {} of each phase; changes of less than {} do not matter.\n",
        series.recordings.len(),
        series.recordings.first().map(|path| path.display().to_string()).unwrap_or_default(),
        series.recordings.last().map(|path| path.display().to_string()).unwrap_or_default(),
        series.criterion.metric,
        percent(series.bound)
    );
    let missing = not_compared("not compared", &series.not_compared);
    format!("{head}{rows}{missing}{}", findings(&series.findings))
}

/// A line for each of what was not compared, each after a line break.
fn not_compared(why: &str, what: &[String]) -> String {
    what.iter().map(|one| format!("\nnote: {why}: {one}")).collect()
}

/// A phase's name where there is one line for it.
pub(super) fn name(id: &str, label: &str, settings: &Settings) -> String {
    format!("{id}: {}", self::label(label, settings))
}

/// What is said of one phase in a sentence.
pub(super) fn sentence(phase: &PhaseComparison, pair: &Comparison) -> String {
    let amounts = format!("A {} {unit}, B {} {unit}", reached(&phase.a), reached(&phase.b), unit = pair.criterion.unit);
    format!("{}: {amounts}, B / A {}", verdict(phase), ratio(phase))
}

/// What became of a phase in a sentence: since when it is worse, or its last change.
pub(super) fn whole_change(phase: &PhaseSeries, series: &SeriesComparison) -> String {
    let from = phase.regression().or(phase.changes.last());
    let Some((change, now, ratio)) = from.and_then(|change| Some((change, phase.now()?, phase.ratio?))) else {
        return "no change found".to_owned();
    };
    format!(
        "{} since {}: from {} to {} {}, a ratio of {ratio:.3}",
        phase.direction.map_or("different", direction),
        change.recording.display(),
        number(change.before),
        number(now),
        series.criterion.unit,
    )
}

/// Which way a change goes, and where what became worse was mended.
fn way(change: &ChangeOfPhase, series: &SeriesComparison) -> String {
    match change.mended.and_then(|index| series.recordings.get(index)) {
        Some(recording) => format!("worse, mended at {}", recording.display()),
        None => direction(change.direction).to_owned(),
    }
}

/// A share in per cent with no more places than it has.
fn percent(share: f64) -> String {
    let text = format!("{:.3}", 100.0 * share);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

fn label(label: &str, settings: &Settings) -> String {
    let plain = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let swept = settings.iter().map(|(key, value)| format!("{key} = {}", plain(value)));
    std::iter::once(label.to_owned()).chain(swept).collect::<Vec<_>>().join(", ")
}

fn reached(reached: &Reached) -> String {
    match (reached.mean, reached.runs) {
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

fn pressure_difference(pressure: &Pressures) -> String {
    match &pressure.difference {
        Interval { value: Some(value), ci_low: Some(low), ci_high: Some(high), .. } => {
            format!("{value:+.2} [{low:+.2}, {high:+.2}]")
        }
        Interval { value: Some(value), .. } => format!("{value:+.2}"),
        _ => "–".to_owned(),
    }
}

fn verdict(phase: &PhaseComparison) -> String {
    match (phase.verdict, phase.direction, phase.runs_needed, &phase.reason) {
        (Verdict::Same, ..) => "same".to_owned(),
        (Verdict::Different, way, ..) => way.map_or("different", direction).to_owned(),
        (Verdict::Unknown, _, _, Some(reason)) => format!("cannot tell: {reason}"),
        (Verdict::Unknown, _, Some(1), _) => "cannot tell, needs about 1 more run each".to_owned(),
        (Verdict::Unknown, _, Some(more), _) => format!("cannot tell, needs about {more} more runs each"),
        (Verdict::Unknown, ..) => "cannot tell: the ratio lies at the bound, a thousand runs would not do".to_owned(),
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
