//! The phases of several runs side by side, for charts that join them.

use manometer_analysis::summary::PhaseSummary;
use manometer_measure::plan::PhaseKind;
use serde::Serialize;

use crate::phase_spans::missing_reason;
use crate::recording_reader::RecordingReader;
use crate::run_names::distinct_names;
use crate::text;

/// A run with its place and its name.
pub(super) struct PhaseRun<'a, 's> {
    pub(super) reader: &'s RecordingReader<'a>,
    pub(super) name: String,
    pub(super) order: usize,
}

/// The runs in order, each with a distinct name.
pub(super) fn runs<'a, 's>(readers: &'s [RecordingReader<'a>]) -> Vec<PhaseRun<'a, 's>> {
    let names = distinct_names(readers.iter().map(|reader| reader.recorded));
    let run = |(order, (reader, name))| PhaseRun { reader, name, order };
    readers.iter().zip(names).enumerate().map(run).collect()
}

/// One phase of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct PhaseRow {
    /// What the value is, with its unit.
    pub(super) strip: String,
    pub(super) order: usize,
    pub(super) run: String,
    pub(super) run_order: usize,
    pub(super) phase: String,
    pub(super) phase_order: usize,
    pub(super) label: String,
    pub(super) value: Option<f64>,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    /// The value with its interval, or why there is none.
    pub(super) text: String,
}

/// The ids of all phases but those of neighbours alone, in the order in which runs first have them.
pub(super) fn phase_ids(runs: &[PhaseRun]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for phase in runs.iter().flat_map(|run| &run.reader.summary.phases).filter(|phase| phase.kind != PhaseKind::Solo) {
        if !ids.contains(&phase.id) {
            ids.push(phase.id.clone());
        }
    }
    ids
}

/// The pressure of each phase of each run, `w0` left out.
pub(super) fn pressures(runs: &[PhaseRun], order: usize) -> Vec<PhaseRow> {
    let pressure = |phase: &PhaseSummary| (phase.pressure.value, phase.pressure.ci_low, phase.pressure.ci_high);
    let strip = |_: &PhaseRun| "pressure against w0".to_owned();
    rows(runs, order, strip, |phase| phase.kind == PhaseKind::Pressure, pressure)
}

/// The performance of each phase of each run.
pub(super) fn performances(runs: &[PhaseRun], order: usize) -> Vec<PhaseRow> {
    let performance =
        |phase: &PhaseSummary| (phase.performance.mean, phase.performance.ci_low, phase.performance.ci_high);
    let strip = |run: &PhaseRun| {
        let criterion = &run.reader.summary.criterion;
        format!("{} of the primary ({})", criterion.metric, criterion.unit)
    };
    rows(runs, order, strip, |phase| phase.kind != PhaseKind::Solo, performance)
}

type Interval = (Option<f64>, Option<f64>, Option<f64>);

fn rows(
    runs: &[PhaseRun],
    order: usize,
    strip: impl Fn(&PhaseRun) -> String,
    is_shown: impl Fn(&PhaseSummary) -> bool,
    value: impl Fn(&PhaseSummary) -> Interval,
) -> Vec<PhaseRow> {
    let ids = phase_ids(runs);
    let of = |run: &PhaseRun, id: &str| run.reader.summary.phases.iter().position(|phase| phase.id == id);
    let shown = |run: &PhaseRun, id: &str| of(run, id).is_some_and(|place| is_shown(&run.reader.summary.phases[place]));
    let wanted: Vec<(usize, &String)> =
        ids.iter().enumerate().filter(|(_, id)| runs.iter().any(|run| shown(run, id))).collect();
    let mut rows = Vec::new();
    for run in runs {
        for (phase_order, id) in &wanted {
            let phase = of(run, id).map(|place| &run.reader.summary.phases[place]);
            if phase.is_some_and(|phase| !is_shown(phase)) {
                continue;
            }
            // A phase that only other runs have is a gap of this one.
            let interval = phase.map_or((None, None, None), &value);
            rows.push(PhaseRow {
                strip: strip(run),
                order,
                run: run.name.clone(),
                run_order: run.order,
                phase: (*id).clone(),
                phase_order: *phase_order,
                label: phase.map(|phase| phase.label.clone()).unwrap_or_default(),
                value: interval.0,
                low: interval.1,
                high: interval.2,
                text: phase
                    .map_or_else(|| "this run has no such phase".to_owned(), |phase| describe(run, phase, interval)),
            });
        }
    }
    rows
}

/// A value with its interval, or why there is none.
pub(super) fn describe(run: &PhaseRun, phase: &PhaseSummary, (value, low, high): Interval) -> String {
    match (value, low, high) {
        (Some(value), Some(low), Some(high)) => {
            format!("{} ({} to {})", text::number(value), text::number(low), text::number(high))
        }
        (Some(value), ..) => format!("{} (no interval)", text::number(value)),
        (None, ..) => missing_reason(run.reader.recording, phase),
    }
}

/// The greatest pressure of each run in words.
pub(super) fn greatest(rows: &[PhaseRow]) -> Vec<String> {
    let of_run = |rows: &[PhaseRow]| {
        let measured = rows.iter().filter(|row| row.value.is_some());
        let most = measured.max_by(|left, right| left.value.unwrap_or(0.0).total_cmp(&right.value.unwrap_or(0.0)))?;
        Some(format!("{}: greatest pressure {} in {} {}", most.run, most.text, most.phase, most.label))
    };
    rows.chunk_by(|left, right| left.run_order == right.run_order).filter_map(of_run).collect()
}
