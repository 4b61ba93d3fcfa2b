//! The pressure scale: the phases as bars, ordered by pressure, those of one step side by side.

use manometer_analysis::summary::{PhaseSummary, RunSummary};
use manometer_measure::plan::{BetterDirection, PhaseKind};
use serde::Serialize;

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::phase_spans::missing_reason;
use crate::recording_reader::RecordingReader;
use crate::table::Table;
use crate::text;

pub(crate) const CHART: Chart = Chart {
    name: "pressure-scale",
    title: "Pressure scale",
    origin: Some("Lange et al. 2021; Lange 2023, definition 2"),
    caption: "The pressure of each phase: the share of the primary's performance lost against w0, where it runs alone. \
              0 means no harm, 0.5 is half of the performance lost, below 0 the neighbours help. A new step begins at \
              a phase that differs significantly from the step's first; a phase without a 95 % interval cannot be \
              tested and is on no step. A dashed whisker is not such an interval: it shows how much the sample \
              intervals vary.",
    spec: include_str!("../../../charts/pressure-scale.vl.json"),
    input: ChartInput::OneRecording(draw),
};

/// What the whisker of a bar spans.
const INTERVAL: &str = "95 % confidence interval";
const QUANTILES: &str = "5–95 % of the sample intervals (quantiles, no confidence interval)";

/// One phase on the scale.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct ScaleBar {
    phase: String,
    label: String,
    order: usize,
    /// The step, counted from 1; missing for a phase that was not tested or has no pressure.
    step: Option<usize>,
    /// The step in words, or `untested`, at its first phase.
    step_name: Option<String>,
    pressure: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    whisker: &'static str,
    /// The pressure with its interval, or why there is none.
    text: String,
}

fn draw(reader: &RecordingReader) -> ChartContent {
    let rows = rows(reader);
    let alt_text: Vec<String> = rows.iter().map(|row| format!("{} {}: {}", row.phase, row.label, row.text)).collect();
    let mut notes = Vec::new();
    if !reader.summary.scale_rule.is_empty() {
        notes.push(format!("How steps are made: {}", reader.summary.scale_rule));
    }
    if rows.iter().any(|row| row.whisker == QUANTILES) {
        notes.push(
            "Where a phase has no confidence interval, the dashed whisker spans what its sample intervals from 5 % \
             to 95 % would mean as pressure against the mean of w0. These are quantiles: they say how much the \
             performance varies, not how accurate the mean is."
                .to_owned(),
        );
    }
    if rows.iter().all(|row| row.pressure.is_none()) {
        notes.push("No phase has a pressure: it needs a primary and a measured phase w0.".to_owned());
        return ChartContent { notes, ..ChartContent::default() };
    }
    ChartContent { table: Table::of(&rows), alt_text: alt_text.join(". "), notes }
}

fn rows(reader: &RecordingReader) -> Vec<ScaleBar> {
    let summary = reader.summary;
    let find = |id: &String| summary.phases.iter().find(|phase| phase.id == *id);
    let mut rows = Vec::new();
    for (step, ids) in summary.scale.iter().enumerate() {
        for (place, phase) in ids.iter().filter_map(find).enumerate() {
            let name = (place == 0).then(|| format!("step {}", step + 1));
            rows.push(row(reader, phase, (Some(step + 1), name), rows.len()));
        }
    }
    for (place, phase) in summary.untested.iter().filter_map(|untested| find(&untested.id)).enumerate() {
        rows.push(row(reader, phase, (None, (place == 0).then(|| "untested".to_owned())), rows.len()));
    }
    let is_unmeasured = |phase: &&PhaseSummary| phase.kind != PhaseKind::Solo && phase.pressure.value.is_none();
    for phase in summary.phases.iter().filter(is_unmeasured) {
        rows.push(row(reader, phase, (None, None), rows.len()));
    }
    rows
}

fn row(
    reader: &RecordingReader,
    phase: &PhaseSummary,
    (step, step_name): (Option<usize>, Option<String>),
    order: usize,
) -> ScaleBar {
    let ends = whisker_ends(reader.summary, phase);
    let (low, high, whisker) = ends.map_or((None, None, "none"), |(low, high, kind)| (Some(low), Some(high), kind));
    ScaleBar {
        phase: phase.id.clone(),
        label: phase.label.clone(),
        order,
        step,
        step_name,
        pressure: phase.pressure.value,
        low,
        high,
        whisker,
        text: describe(reader, phase),
    }
}

/// The ends of a phase's whisker and what they are.
fn whisker_ends(summary: &RunSummary, phase: &PhaseSummary) -> Option<(f64, f64, &'static str)> {
    phase.pressure.value?;
    if let (Some(low), Some(high)) = (phase.pressure.ci_low, phase.pressure.ci_high)
        && low < high
    {
        return Some((low, high, INTERVAL));
    }
    if phase.performance.ci_low.is_some() {
        // The interval of w0 against itself has no width.
        return None;
    }
    let [low, .., high] = phase.performance.quantiles?;
    let baseline = summary.phases.iter().find(|phase| phase.kind == PhaseKind::Baseline)?;
    let alone = baseline.performance.mean.filter(|mean| *mean > 0.0)?;
    Some(match summary.criterion.better {
        BetterDirection::Higher => (1.0 - high / alone, 1.0 - low / alone, QUANTILES),
        BetterDirection::Lower => (low / alone - 1.0, high / alone - 1.0, QUANTILES),
    })
}

fn describe(reader: &RecordingReader, phase: &PhaseSummary) -> String {
    let pressure = &phase.pressure;
    match (pressure.value, pressure.ci_low, pressure.ci_high) {
        (Some(value), Some(low), Some(high)) if low < high => {
            format!("{} ({} to {})", text::pressure(value), text::pressure(low), text::pressure(high))
        }
        (Some(value), ..) => text::pressure(value),
        (None, ..) if phase.start_s.is_none() => missing_reason(reader.recording, phase),
        (None, ..) => {
            let reason = pressure.reason.as_deref().or(phase.performance.reason.as_deref());
            reason.map_or_else(|| text::NOT_MEASURED.to_owned(), |reason| format!("{}: {reason}", text::NOT_MEASURED))
        }
    }
}
