//! Latency against throughput: a point for each phase.

use std::collections::BTreeSet;

use manometer_analysis::summary::{LatencySummary, PhaseSummary};
use manometer_measure::plan::PhaseKind;
use serde::Serialize;

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::charts::phase_rows::{PhaseRun, runs};
use crate::recording_reader::RecordingReader;
use crate::text;

pub(crate) const CHART: Chart = Chart {
    name: "throughput-latency",
    title: "Latency against throughput",
    origin: None,
    caption: "Each point is a phase: the primary's throughput (x axis, with its 95 % interval) and latency (y axis, \
              logarithmic); the square is w0. The lower right is best. Points that rise without moving to the right: \
              the store is saturated, and requests only wait longer. Lines connect consecutive phases.",
    spec: include_str!("../../../charts/throughput-latency.vl.json"),
    input: ChartInput::Recordings(draw),
};

/// A percentile: its name, and its value in a summary.
type Percentile = (&'static str, fn(&LatencySummary) -> Option<f64>);

const PERCENTILES: [Percentile; 2] = [("median", |latency| latency.p50), ("99th percentile", |latency| latency.p99)];

/// One phase of one run in the panel of one percentile.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct LatencyPoint {
    panel: String,
    panel_order: usize,
    run: String,
    run_order: usize,
    phase: String,
    order: usize,
    /// How many phases before it have no point: where that changes, the line breaks.
    part: usize,
    label: String,
    baseline: bool,
    unit: String,
    throughput: f64,
    low: Option<f64>,
    high: Option<f64>,
    latency_us: f64,
    requests: u64,
}

fn draw(readers: &[RecordingReader]) -> ChartContent {
    let runs = runs(readers);
    let mut rows: Vec<LatencyPoint> = runs.iter().flat_map(of_run).collect();
    if rows.is_empty() {
        return ChartContent::empty("No phase has both a throughput and latencies: this chart is left out.");
    }
    let mut panels: Vec<String> = Vec::new();
    for row in &mut rows {
        let known = panels.iter().position(|panel| *panel == row.panel);
        row.panel_order = known.unwrap_or_else(|| {
            panels.push(row.panel.clone());
            panels.len() - 1
        });
    }
    rows.sort_by_key(|row| row.panel_order);
    let word = |row: &LatencyPoint| {
        let (throughput, latency) = (text::number(row.throughput), text::latency(row.latency_us));
        format!("{}, {}, {}: {throughput} {}, {latency}", row.panel, row.run, row.phase, row.unit)
    };
    let words: Vec<String> = rows.iter().map(word).collect();
    ChartContent::of(&rows, &words, Vec::new())
}

fn of_run(run: &PhaseRun) -> Vec<LatencyPoint> {
    let phases = &run.reader.summary.phases;
    let throughputs: Vec<_> = phases.iter().map(|phase| throughput(run.reader, phase)).collect();
    let operations: BTreeSet<&String> = phases.iter().flat_map(|phase| phase.latency_us.keys()).collect();
    let lines = operations.into_iter().flat_map(|operation| PERCENTILES.map(|percentile| (operation, percentile)));
    lines.flat_map(|(operation, percentile)| line(run, &throughputs, operation, percentile)).collect()
}

/// A row for each phase that has both.
fn line(
    run: &PhaseRun,
    throughputs: &[Option<Throughput>],
    operation: &str,
    (name, percentile): Percentile,
) -> Vec<LatencyPoint> {
    let mut rows = Vec::new();
    for (order, (phase, throughput)) in run.reader.summary.phases.iter().zip(throughputs).enumerate() {
        let latency = phase.latency_us.get(operation);
        let latency_us = latency.and_then(percentile);
        let (Some(throughput), Some(latency), Some(latency_us)) = (throughput, latency, latency_us) else { continue };
        rows.push(LatencyPoint {
            panel: format!("{operation}: {name} of the latency; throughput in {}", throughput.unit),
            panel_order: 0,
            run: run.name.clone(),
            run_order: run.order,
            phase: phase.id.clone(),
            order,
            part: order - rows.len(),
            label: phase.label.clone(),
            baseline: phase.kind == PhaseKind::Baseline,
            unit: throughput.unit.clone(),
            throughput: throughput.mean,
            low: throughput.low,
            high: throughput.high,
            latency_us,
            requests: latency.samples,
        });
    }
    rows
}

/// The primary's throughput in a phase.
struct Throughput {
    mean: f64,
    low: Option<f64>,
    high: Option<f64>,
    unit: String,
}

/// With its interval. Where the throughput is not what is judged, its mean over the phase's samples has none.
fn throughput(reader: &RecordingReader, phase: &PhaseSummary) -> Option<Throughput> {
    if reader.summary.criterion.metric == "throughput" {
        let estimate = &phase.performance;
        let (low, high) = (estimate.ci_low, estimate.ci_high);
        return Some(Throughput { mean: estimate.mean?, low, high, unit: estimate.unit.clone() });
    }
    let primary = reader.primary()?;
    let points = reader.throughput(primary)?;
    let ours = points.iter().filter(|point| reader.is_in(phase, point.t_s));
    let values: Vec<f64> = ours.filter_map(|point| point.mean).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (!values.is_empty()).then(|| Throughput { mean, low: None, high: None, unit: primary.unit.clone() })
}
