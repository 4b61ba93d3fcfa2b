//! Latency against throughput: each phase as a point.

use manometer_analysis::summary::{LatencySummary, PhaseSummary};
use manometer_measure::plan::PhaseKind;
use serde::Serialize;

use super::joined::{Run, runs};
use super::{Chart, Draw, Drawing};
use crate::source::Source;
use crate::text;

pub(super) const CHART: Chart = Chart {
    name: "throughput-latency",
    title: "Latency against throughput",
    reading: "Each point is a phase: how much the primary did (across, with its 95 % interval) and how long its requests took \
              (upwards, logarithmic); the square is w0. Towards the lower right is better. Where points rise without moving \
              to the right, requests only wait longer.",
    spec: include_str!("../../../../charts/throughput-latency.vl.json"),
    draw: Draw::Any(draw),
};

/// A percentile: what it is called, and where it stands.
type Percentile = (&'static str, fn(&LatencySummary) -> Option<f64>);

const PERCENTILES: [Percentile; 2] = [("median", |latency| latency.p50), ("99th percentile", |latency| latency.p99)];

/// One phase of one run in the panel of one percentile.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row {
    panel: String,
    panel_order: usize,
    run: String,
    run_order: usize,
    phase: String,
    order: usize,
    label: String,
    baseline: bool,
    unit: String,
    throughput: f64,
    low: Option<f64>,
    high: Option<f64>,
    latency_us: f64,
    requests: u64,
}

fn draw(sources: &[Source]) -> Drawing {
    let runs = runs(sources);
    let mut rows: Vec<Row> = runs.iter().flat_map(of_run).collect();
    if rows.is_empty() {
        return Drawing::left_out("No phase has both a throughput and latencies: this chart is left out.");
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
    let word = |row: &Row| {
        let (throughput, latency) = (text::number(row.throughput), text::latency(row.latency_us));
        format!("{}, {}, {}: {throughput} {}, {latency}", row.panel, row.run, row.phase, row.unit)
    };
    let words: Vec<String> = rows.iter().map(word).collect();
    Drawing::of(&rows, &words, Vec::new())
}

fn of_run(run: &Run) -> Vec<Row> {
    let mut rows = Vec::new();
    for (order, phase) in run.source.summary.phases.iter().enumerate() {
        let Some((throughput, low, high, unit)) = throughput(run.source, phase) else { continue };
        for (operation, latency) in &phase.latency_us {
            rows.extend(PERCENTILES.iter().filter_map(|(name, percentile)| {
                Some(Row {
                    panel: format!("{operation}: {name} of the latency; throughput in {unit}"),
                    panel_order: 0,
                    run: run.name.clone(),
                    run_order: run.order,
                    phase: phase.id.clone(),
                    order,
                    label: phase.label.clone(),
                    baseline: phase.kind == PhaseKind::Baseline,
                    unit: unit.clone(),
                    throughput,
                    low,
                    high,
                    latency_us: percentile(latency)?,
                    requests: latency.samples,
                })
            }));
        }
    }
    rows
}

/// The primary's throughput in a phase, with its interval and unit. Where the throughput is not what is judged, its mean
/// over the phase's samples has none.
fn throughput(source: &Source, phase: &PhaseSummary) -> Option<(f64, Option<f64>, Option<f64>, String)> {
    if source.summary.criterion.metric == "throughput" {
        let estimate = &phase.performance;
        return Some((estimate.mean?, estimate.ci_low, estimate.ci_high, estimate.unit.clone()));
    }
    let primary = source.primary()?;
    let points = source.throughput(primary)?;
    let ours = points.iter().filter(|point| source.is_in(phase, point.t_s));
    let values: Vec<f64> = ours.filter_map(|point| point.mean).collect();
    (!values.is_empty()).then(|| (values.iter().sum::<f64>() / values.len() as f64, None, None, primary.unit.clone()))
}
