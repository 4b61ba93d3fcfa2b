//! The run's timeline: the primary, its neighbours, its compactions.

use manometer_measure::plan::PlannedWorkload;

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::recording_reader::{LatencyCriterion, RecordingReader};
use crate::strips::{Line, Strip};

pub(crate) const CHART: Chart = Chart {
    name: "timeline",
    title: "The run over time",
    origin: Some("Lange 2023, Figures 4.1, 4.3 to 4.5 and 4.7"),
    caption: "The primary's throughput above, the neighbours' throughput below it, the engine's compactions below \
              that. Bands are phases; where a line breaks, nothing was measured.",
    spec: include_str!("../../../charts/timeline.vl.json"),
    input: ChartInput::OneRecording(draw),
};

/// Points of one line: more than this and the pixels of a page run together.
const LIMIT: usize = 600;

fn draw(reader: &RecordingReader) -> ChartContent {
    let mut notes = Vec::new();
    let mut strips: Vec<Strip> = primary(reader).into_iter().collect();
    if strips.is_empty() {
        notes.push("The primary left no samples: its strip is left out.".to_owned());
    }
    strips.extend(criterion(reader));
    strips.extend(neighbours(reader));
    let compactions = compactions(reader);
    if compactions.is_empty() {
        notes.push("The recording holds no compaction figures of the primary: their strip is left out.".to_owned());
    }
    strips.extend(compactions);
    ChartContent::of_strips(strips, &reader.spans(), notes)
}

fn primary(reader: &RecordingReader) -> Option<Strip> {
    let primary = reader.primary()?;
    Strip::of(format!("{}: throughput ({})", primary.name, primary.unit), vec![throughput(reader, primary)])
}

fn throughput(reader: &RecordingReader, workload: &PlannedWorkload) -> Line {
    let points = reader.throughput(workload).unwrap_or_default();
    Line { name: workload.name.clone(), points: reader.line(points, LIMIT) }
}

/// The criterion, where it is not the throughput that is shown anyway.
fn criterion(reader: &RecordingReader) -> Option<Strip> {
    let (criterion, primary) = (LatencyCriterion::of(&reader.summary.criterion)?, reader.primary()?);
    let points = reader.line(reader.latency_us(&criterion), LIMIT);
    let since = if criterion.response { ", from when due" } else { "" };
    let title = format!("{}: {} of {}{since} (µs)", primary.name, criterion.name, criterion.operation);
    Strip::of(title, vec![Line { name: primary.name.clone(), points }])
}

/// One strip per unit of the neighbours' rates.
fn neighbours(reader: &RecordingReader) -> Vec<Strip> {
    let mut units: Vec<&str> = reader.recording.plan.neighbours().map(|workload| workload.unit.as_str()).collect();
    units.sort_unstable();
    units.dedup();
    let strip = |unit: &str| {
        let ours = reader.recording.plan.neighbours().filter(|workload| workload.unit == unit);
        Strip::of(format!("Neighbours ({unit})"), ours.map(|workload| throughput(reader, workload)).collect())
    };
    units.into_iter().filter_map(strip).collect()
}

/// The engine's columns on compactions: activity, bytes, memory, stalls, write amplification.
const COMPACTIONS: [&str; 10] = [
    "running_compactions",
    "compaction_read_bytes",
    "compaction_written_bytes",
    "rebalance_written_bytes",
    "compaction_memory_bytes",
    "compacting",
    "stalled",
    "range_runs_mean",
    "range_runs_max",
    "write_amplification",
];

/// One strip per unit of the columns that speak of compactions.
fn compactions(reader: &RecordingReader) -> Vec<Strip> {
    let Some(primary) = reader.primary() else { return Vec::new() };
    let series = format!("{}.engine", primary.name);
    let Some(samples) = reader.samples(&series) else { return Vec::new() };
    let ours: Vec<_> = samples.columns.iter().filter(|column| COMPACTIONS.contains(&column.name.as_str())).collect();
    let mut units: Vec<&str> = ours.iter().map(|column| column.unit.as_str()).collect();
    units.sort_unstable();
    units.dedup();
    let strip = |unit: &str| {
        let (factor, shown) = scaled(unit);
        let lines = ours.iter().filter(|column| column.unit == unit).map(|column| {
            let points = reader.column(&series, &column.name, factor).unwrap_or_default();
            Line { name: column.name.replace('_', " "), points: reader.line(points, LIMIT) }
        });
        Strip::of(format!("Compactions ({shown})"), lines.collect())
    };
    units.into_iter().filter_map(strip).collect()
}

/// The factor and the unit of a column on the page.
fn scaled(unit: &str) -> (f64, &str) {
    const MIB: f64 = 1_048_576.0;
    match unit {
        "B" => (1.0 / MIB, "MiB"),
        "B/s" => (1.0 / MIB, "MiB/s"),
        "" => (1.0, "count"),
        other => (1.0, other),
    }
}
