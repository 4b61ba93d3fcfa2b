//! Write amplification by the size of the database.

use manometer_analysis::lsm_levels::level_of;
use serde::Serialize;

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::charts::phase_rows::{PhaseRun, runs};
use crate::downsample::{Point, bucket_size};
use crate::recording_reader::RecordingReader;
use crate::text;

pub(crate) const CHART: Chart = Chart {
    name: "write-amplification-size",
    title: "Write amplification against size",
    origin: Some("Song 2018, Figure 4.8"),
    caption: "The engine's write amplification (y axis) by the size of the database (x axis), from the start of each \
              run to the point at its end; a compaction that shrinks the database takes the line back. Where a line \
              climbs, the engine writes more bytes for each byte put as the database grows.",
    spec: include_str!("../../../charts/write-amplification-size.vl.json"),
    input: ChartInput::Recordings(draw),
};

/// Points of one line at most.
const LIMIT: usize = 200;
const GIB: f64 = 1_073_741_824.0;
/// Columns with the size of all data; without them the levels are added up.
const WHOLE: [&str; 3] = ["space_bytes", "tables_bytes", "file_bytes"];

/// One sample of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct SizePoint {
    run: String,
    run_order: usize,
    t_s: f64,
    /// Nothing, like the amplification, in a gap.
    size_gib: Option<f64>,
    amplification: Option<f64>,
    is_last: bool,
}

fn draw(readers: &[RecordingReader]) -> ChartContent {
    let mut rows: Vec<SizePoint> = Vec::new();
    let mut words = Vec::new();
    for run in runs(readers) {
        let ours = of_run(&run);
        if let Some(last) = ours.iter().find(|row| row.is_last) {
            let shown = |number: Option<f64>| number.map_or_else(|| text::NOT_MEASURED.to_owned(), text::number);
            let (ratio, size) = (shown(last.amplification), shown(last.size_gib));
            words.push(format!("{}: {ratio} with {size} GiB at its end", run.name));
        }
        rows.extend(ours);
    }
    if rows.is_empty() {
        return ChartContent::empty("No engine has counters of write amplification and size: this chart is left out.");
    }
    ChartContent::of(&rows, &words, Vec::new())
}

fn of_run(run: &PhaseRun) -> Vec<SizePoint> {
    let Some((amplification, size)) = columns(run.reader) else { return Vec::new() };
    let both = amplification.iter().zip(&size).map(|(amplification, size)| {
        let values = size.mean.zip(amplification.mean);
        (amplification.t_s, values.map(|(size_gib, _)| size_gib), values.map(|(_, amplification)| amplification))
    });
    let both: Vec<(f64, Option<f64>, Option<f64>)> = both.collect();
    let step = bucket_size(both.len(), LIMIT);
    let mut shown = Vec::new();
    for run in both.chunk_by(|left, right| left.1.is_some() == right.1.is_some()) {
        // From the last backwards: the last point must stay. Of a gap one sample is enough.
        let step = if run[0].1.is_some() { step } else { run.len() };
        let from = shown.len();
        shown.extend(run.iter().rev().step_by(step));
        shown[from..].reverse();
    }
    let last = shown.iter().rposition(|(_, size_gib, _)| size_gib.is_some());
    let row = |(place, (t_s, size_gib, amplification)): (usize, &(f64, Option<f64>, Option<f64>))| SizePoint {
        run: run.name.clone(),
        run_order: run.order,
        t_s: *t_s,
        size_gib: *size_gib,
        amplification: *amplification,
        is_last: Some(place) == last,
    };
    if last.is_none() { Vec::new() } else { shown.iter().enumerate().map(row).collect() }
}

/// The write amplification and the size in GiB, sample by sample.
fn columns(reader: &RecordingReader) -> Option<(Vec<Point>, Vec<Point>)> {
    let series = format!("{}.engine", reader.primary()?.name);
    let amplification = reader.column(&series, "write_amplification", 1.0)?;
    let whole = WHOLE.iter().find_map(|column| reader.column(&series, column, 1.0 / GIB));
    Some((amplification, whole.or_else(|| levels(reader, &series))?))
}

/// The sizes of all levels together.
fn levels(reader: &RecordingReader, series: &str) -> Option<Vec<Point>> {
    let samples = reader.samples(series)?;
    let names = samples.columns.iter().map(|column| column.name.as_str()).filter(|name| level_of(name).is_some());
    names.filter_map(|name| reader.column(series, name, 1.0 / GIB)).reduce(|sum, level| {
        let both = sum.iter().zip(&level);
        both.map(|(sum, level)| Point::of(sum.t_s, sum.mean.zip(level.mean).map(|(sum, level)| sum + level))).collect()
    })
}
