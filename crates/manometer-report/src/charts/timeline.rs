//! The run's timeline: the primary above, its neighbours beneath, its compactions beneath that.

use manometer_measure::plan::Workload;

use super::{Chart, Draw, Drawing};
use crate::source::{LatencyCriterion, Source};
use crate::time::{Line, Strip};

pub(super) const CHART: Chart = Chart {
    name: "timeline",
    title: "The run over time",
    origin: Some("Lange 2023 (seed 000), Figures 4.1, 4.3 to 4.5 and 4.7"),
    reading: "The primary's throughput above, what its neighbours did beneath, what the engine compacted beneath that. \
              Bands are phases; a line that breaks was not measured there.",
    spec: include_str!("../../../../charts/timeline.vl.json"),
    draw: Draw::One(draw),
};

/// Points of one line: more than this and the pixels of a page run together.
const LIMIT: usize = 600;

fn draw(source: &Source) -> Drawing {
    let mut notes = Vec::new();
    let mut strips: Vec<Strip> = primary(source).into_iter().collect();
    if strips.is_empty() {
        notes.push("The primary left no samples: its strip is left out.".to_owned());
    }
    strips.extend(criterion(source));
    strips.extend(neighbours(source));
    let compactions = compactions(source);
    if compactions.is_empty() {
        notes.push("The recording holds no compaction figures of the primary: their strip is left out.".to_owned());
    }
    strips.extend(compactions);
    Drawing::of_strips(&strips, &source.spans(), notes)
}

fn primary(source: &Source) -> Option<Strip> {
    let primary = source.primary()?;
    Strip::of(format!("{}: throughput ({})", primary.name, primary.unit), vec![throughput(source, primary)])
}

fn throughput(source: &Source, workload: &Workload) -> Line {
    let points = source.throughput(workload).unwrap_or_default();
    Line { name: workload.name.clone(), points: source.line(points, LIMIT) }
}

/// The criterion, where it is not the throughput that is shown anyway.
fn criterion(source: &Source) -> Option<Strip> {
    let (criterion, primary) = (LatencyCriterion::of(&source.summary.criterion)?, source.primary()?);
    let points = source.line(source.latency_us(&criterion), LIMIT);
    let since = if criterion.response { ", from when due" } else { "" };
    let title = format!("{}: {} of {}{since} (µs)", primary.name, criterion.name, criterion.operation);
    Strip::of(title, vec![Line { name: primary.name.clone(), points }])
}

/// One strip per unit of the neighbours' rates.
fn neighbours(source: &Source) -> Vec<Strip> {
    let mut units: Vec<&str> = source.recording.plan.neighbours().map(|workload| workload.unit.as_str()).collect();
    units.sort_unstable();
    units.dedup();
    let strip = |unit: &str| {
        let ours = source.recording.plan.neighbours().filter(|workload| workload.unit == unit);
        Strip::of(format!("Neighbours ({unit})"), ours.map(|workload| throughput(source, workload)).collect())
    };
    units.into_iter().filter_map(strip).collect()
}

/// The engine's columns that tell when it compacts, how much, in how much memory, whom that holds up, and what it comes to.
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
fn compactions(source: &Source) -> Vec<Strip> {
    let Some(primary) = source.primary() else { return Vec::new() };
    let series = format!("{}.engine", primary.name);
    let Some(samples) = source.samples(&series) else { return Vec::new() };
    let ours: Vec<_> = samples.columns.iter().filter(|column| COMPACTIONS.contains(&column.name.as_str())).collect();
    let mut units: Vec<&str> = ours.iter().map(|column| column.unit.as_str()).collect();
    units.sort_unstable();
    units.dedup();
    let strip = |unit: &str| {
        let (factor, shown) = scaled(unit);
        let lines = ours.iter().filter(|column| column.unit == unit).map(|column| {
            let points = source.column(&series, &column.name, factor).unwrap_or_default();
            Line { name: column.name.replace('_', " "), points: source.line(points, LIMIT) }
        });
        Strip::of(format!("Compactions ({shown})"), lines.collect())
    };
    units.into_iter().filter_map(strip).collect()
}

/// The factor and the unit that bring a column's values to the page.
fn scaled(unit: &str) -> (f64, &str) {
    const MIB: f64 = 1_048_576.0;
    match unit {
        "B" => (1.0 / MIB, "MiB"),
        "B/s" => (1.0 / MIB, "MiB/s"),
        "" => (1.0, "count"),
        other => (1.0, other),
    }
}
