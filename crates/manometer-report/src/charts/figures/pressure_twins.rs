//! The pressure of each phase on the primary and on its neighbours, side by side.

use manometer_analysis::summary::{IntervalEstimate, PhaseSummary};
use manometer_measure::plan::PhaseKind;
use serde::Serialize;

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::charts::phase_rows::{PhaseRun, describe, phase_ids, runs};
use crate::recording_reader::RecordingReader;
use crate::text;

pub(crate) const CHART: Chart = Chart {
    name: "pressure-twins",
    title: "Pressure on the primary and on its neighbours",
    origin: Some("Lange 2023, Figures 4.12, 4.14, 4.18 and 4.21"),
    caption: "Twin bars for each phase: the pressure on the primary and on each neighbour, each relative to its solo \
              run. Whiskers are 95 % intervals, where there is one. Unequal bars: interference is \
              asymmetric.",
    spec: include_str!("../../../charts/pressure-twins.vl.json"),
    input: ChartInput::Recordings(draw),
};

/// One bar.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct TwinBar {
    run: String,
    run_order: usize,
    phase: String,
    phase_order: usize,
    label: String,
    who: String,
    who_order: usize,
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    text: String,
}

fn draw(readers: &[RecordingReader]) -> ChartContent {
    let runs = runs(readers);
    let ids = phase_ids(&runs);
    let (mut rows, mut without) = (Vec::new(), Vec::new());
    for run in &runs {
        let ours: Vec<TwinBar> = run.reader.summary.phases.iter().flat_map(|phase| bars(run, phase, &ids)).collect();
        if ours.iter().any(|row| row.who_order > 0 && row.value.is_some()) {
            rows.extend(ours);
        } else {
            without.push(run.name.as_str());
        }
    }
    if rows.is_empty() {
        return ChartContent::empty(
            "No neighbour was measured alone, so its pressure is not known: this chart is left out.",
        );
    }
    let words: Vec<String> =
        rows.iter().map(|row| format!("{}, {} {}: {} {}", row.run, row.phase, row.label, row.who, row.text)).collect();
    let note = format!("Not shown, because no neighbour was measured alone there: {}.", without.join("; "));
    ChartContent::of(&rows, &words, if without.is_empty() { Vec::new() } else { vec![note] })
}

/// The bars of a phase with neighbours: the primary's first.
fn bars(run: &PhaseRun, phase: &PhaseSummary, ids: &[String]) -> Vec<TwinBar> {
    if phase.kind != PhaseKind::Pressure {
        return Vec::new();
    }
    let primary = run.reader.primary().map(|primary| (primary.name.as_str(), &phase.pressure));
    let neighbours = phase.neighbours.iter().map(|(name, neighbour)| (name.as_str(), &neighbour.pressure));
    let bar = |(who_order, (who, pressure)): (usize, (&str, &IntervalEstimate))| {
        let interval = (pressure.value, pressure.ci_low, pressure.ci_high);
        TwinBar {
            run: run.name.clone(),
            run_order: run.order,
            phase: phase.id.clone(),
            phase_order: ids.iter().position(|id| *id == phase.id).unwrap_or(ids.len()),
            label: phase.label.clone(),
            who: who.to_owned(),
            who_order,
            value: interval.0,
            low: interval.1,
            high: interval.2,
            text: match &pressure.reason {
                Some(reason) if pressure.value.is_none() => format!("{}: {reason}", text::NOT_MEASURED),
                _ => describe(run, phase, interval),
            },
        }
    };
    // Without a primary the neighbours' bars would take its place.
    primary
        .into_iter()
        .flat_map(|primary| std::iter::once(primary).chain(neighbours.clone()))
        .enumerate()
        .map(bar)
        .collect()
}
