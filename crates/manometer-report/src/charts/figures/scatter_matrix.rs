//! Counters against counters, with their correlations.

use serde::Serialize;

use crate::charts::chart::{Chart, ChartContent, ChartInput, phase_name};
use crate::downsample::{Point, bucket_size, nearest};
use crate::recording_reader::{LatencyCriterion, RecordingReader};

pub(crate) const CHART: Chart = Chart {
    name: "scatter-matrix",
    title: "Counters against counters",
    origin: None,
    caption: "A panel for every two counters, the first on the y axis, the second on the x axis; each point is a \
              sample interval, coloured by phase. Points along a line: the two correlate. A cloud: they do not.",
    spec: include_str!("../../../charts/scatter-matrix.vl.json"),
    input: ChartInput::OneRecording(draw),
};

/// Counters at most: each stands against every other, and more would be more panels than anybody looks at.
const COUNTERS: usize = 5;
/// Points of one panel at most, evenly over the run.
const LIMIT: usize = 240;
/// How far a counter's sample may lie from the criterion's, in sample intervals.
const APART: f64 = 0.75;
const MIB: f64 = 1_048_576.0;

/// The host's counters that are looked at, the most informative first: name, series, column, factor.
const HOST: [(&str, &str, &str, f64); 4] = [
    ("device reads (MiB/s)", "device", "read_bytes", 1.0 / MIB),
    ("device writes (MiB/s)", "device", "write_bytes", 1.0 / MIB),
    ("device busy (share)", "device", "busy", 1.0),
    ("waiting for I/O (cores)", "cpu", "iowait", 1.0),
];

struct Counter {
    name: String,
    points: Vec<Point>,
}

/// One sample interval in one panel.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct ScatterPoint {
    panel: String,
    panel_order: usize,
    x_name: String,
    y_name: String,
    phase: String,
    phase_order: usize,
    t_s: f64,
    x: f64,
    y: f64,
}

fn draw(reader: &RecordingReader) -> ChartContent {
    let mut counters = counters(reader);
    let more: Vec<String> = counters.drain(COUNTERS.min(counters.len())..).map(|counter| counter.name).collect();
    if counters.len() < 2 {
        return ChartContent::empty("The recording holds no two counters that change: this chart is left out.");
    }
    let (mut rows, mut words) = (Vec::new(), Vec::new());
    let moments = moments(reader, &counters[0]);
    let pairs = (0..counters.len()).flat_map(|x| (x + 1..counters.len()).map(move |y| (x, y)));
    for (panel_order, (x, y)) in pairs.enumerate() {
        let (x, y) = (&counters[x], &counters[y]);
        let from = rows.len();
        rows.extend(moments.iter().filter_map(|t_s| row(reader, *t_s, panel_order, x, y)));
        if let Some(correlation) = correlation(&rows[from..]) {
            let correlation = format!("{correlation:.2}").replace('-', "−");
            words.push(format!("{} with {}: correlation {correlation}", x.name, y.name));
        }
    }
    if rows.is_empty() {
        return ChartContent::empty("No two counters were sampled at the same time: this chart is left out.");
    }
    let mut notes = if words.is_empty() { Vec::new() } else { vec![words.join(". ") + "."] };
    if !more.is_empty() {
        notes.push(format!("Not shown, to keep the panels few: {}.", more.join(", ")));
    }
    ChartContent::of(&rows, &words, notes)
}

/// The criterion and what else changes, the most informative first.
fn counters(reader: &RecordingReader) -> Vec<Counter> {
    let criterion = &reader.summary.criterion;
    let mut all =
        vec![Counter { name: format!("{} ({})", criterion.metric, criterion.unit), points: reader.criterion() }];
    all.extend(latency(reader));
    let column = |(name, series, column, factor): (&str, &str, &str, f64)| {
        Some(Counter { name: name.to_owned(), points: reader.column(series, column, factor)? })
    };
    all.extend(HOST.into_iter().take(2).filter_map(column));
    all.extend(compactions(reader));
    all.extend(HOST.into_iter().skip(2).filter_map(column));
    all.retain(changes);
    all
}

/// The 99th percentile of the primary's first operation, where it is not the criterion itself.
fn latency(reader: &RecordingReader) -> Option<Counter> {
    let operation = reader.latencies().operations().into_iter().next()?;
    let p99 = LatencyCriterion { operation, response: false, name: "p99", quantile: 0.99 };
    let name = format!("{} p99 (µs)", p99.operation);
    (LatencyCriterion::of(&reader.summary.criterion).as_ref() != Some(&p99))
        .then(|| Counter { name, points: reader.latency_us(&p99) })
}

fn compactions(reader: &RecordingReader) -> Option<Counter> {
    let series = format!("{}.engine", reader.primary()?.name);
    let points = reader.column(&series, "compaction_written_bytes", 1.0 / MIB)?;
    Some(Counter { name: "compaction writes (MiB/s)".to_owned(), points })
}

/// Whether a counter varies by more than a hundredth of its largest value: less is noise, which a separate scale
/// would magnify.
fn changes(counter: &Counter) -> bool {
    let values = || counter.points.iter().filter_map(|point| point.mean);
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    most - least > 0.01 * least.abs().max(most.abs())
}

/// The moments that are shown: those of the criterion in measured phases, evenly downsampled.
fn moments(reader: &RecordingReader, criterion: &Counter) -> Vec<f64> {
    let moments = criterion.points.iter().map(|point| point.t_s);
    let measured: Vec<f64> = moments.filter(|t_s| reader.phase_at(*t_s).is_some()).collect();
    measured.iter().copied().step_by(bucket_size(measured.len(), LIMIT)).collect()
}

fn row(reader: &RecordingReader, t_s: f64, panel_order: usize, x: &Counter, y: &Counter) -> Option<ScatterPoint> {
    let (phase_order, phase) = reader.phase_at(t_s)?;
    let within_s = APART * reader.recording.plan.interval_s;
    Some(ScatterPoint {
        panel: format!("{} against {}", y.name, x.name),
        panel_order,
        x_name: x.name.clone(),
        y_name: y.name.clone(),
        phase: phase_name(&phase.id, &phase.label),
        phase_order,
        t_s,
        x: nearest(&x.points, t_s, within_s)?,
        y: nearest(&y.points, t_s, within_s)?,
    })
}

/// Pearson's correlation of the points of a panel; nothing where one of the counters is constant.
fn correlation(rows: &[ScatterPoint]) -> Option<f64> {
    let count = rows.len() as f64;
    let mean = |of: fn(&ScatterPoint) -> f64| rows.iter().map(of).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|row| row.x), mean(|row| row.y));
    let sum = |of: &dyn Fn(&ScatterPoint) -> f64| rows.iter().map(of).sum::<f64>();
    let both = sum(&|row| (row.x - mean_x) * (row.y - mean_y));
    let own = sum(&|row| (row.x - mean_x).powi(2)) * sum(&|row| (row.y - mean_y).powi(2));
    (own > 0.0).then(|| both / own.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_that_rise_together_are_correlated() {
        let row = |x: f64, y: f64| ScatterPoint {
            panel: String::new(),
            panel_order: 0,
            x_name: String::new(),
            y_name: String::new(),
            phase: String::new(),
            phase_order: 0,
            t_s: 0.0,
            x,
            y,
        };
        let with = |slope: f64| correlation(&[1.0, 2.0, 3.0].map(|x| row(x, slope * x)));
        assert!((with(2.0).unwrap() - 1.0).abs() < 1e-12);
        assert!((with(-1.0).unwrap() + 1.0).abs() < 1e-12);
        assert_eq!(with(0.0), None, "a constant has no correlation");
        assert_eq!(correlation(&[]), None);
    }
}
