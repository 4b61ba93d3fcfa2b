//! The levels of the primary's LSM tree over time: sizes, files, compactions.

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::recording_reader::RecordingReader;
use crate::strips::{Line, Strip};

pub(crate) const CHART: Chart = Chart {
    name: "levels",
    title: "LSM levels",
    origin: Some("Lange 2023, Figure 4.2"),
    caption: "The size of each level of the primary's LSM tree, each on a separate scale; below, the files or runs \
              of all levels, and those under compaction. Empty levels are omitted.",
    spec: include_str!("../../../charts/levels.vl.json"),
    input: ChartInput::OneRecording(draw),
};

/// Points of one line: more than this and the pixels of a page run together.
const LIMIT: usize = 600;
const MIB: f64 = 1_048_576.0;

/// What is counted by level, besides its size: the end of the columns' names, and the strip's title.
const COUNTS: [(&str, &str); 4] = [
    ("files", "Files (count)"),
    ("tables", "Tables (count)"),
    ("runs", "Runs (count)"),
    ("compacting_files", "Files being compacted (count)"),
];

fn draw(reader: &RecordingReader) -> ChartContent {
    let strips = strips(reader);
    if strips.is_empty() {
        return ChartContent::empty(
            "The recording holds no level sizes of the primary's engine: this chart is left out.",
        );
    }
    ChartContent::of_strips(strips, &reader.spans(), Vec::new())
}

fn strips(reader: &RecordingReader) -> Vec<Strip> {
    let Some(primary) = reader.primary() else { return Vec::new() };
    let series = format!("{}.engine", primary.name);
    let Some(samples) = reader.samples(&series) else { return Vec::new() };
    let names: Vec<&str> = samples.columns.iter().map(|column| column.name.as_str()).collect();
    let lines = |what: &str, factor: f64| -> Vec<Line> {
        levels(&names, what)
            .into_iter()
            .filter_map(|(level, column)| line(reader, &series, level, column, factor))
            .collect()
    };
    let sizes = lines("bytes", 1.0 / MIB).into_iter().filter_map(|line| {
        let level = line.name.clone();
        Strip::of(format!("{}{} (MiB)", level[..1].to_uppercase(), &level[1..]), vec![line])
    });
    let counts = COUNTS.into_iter().filter_map(|(what, title)| Strip::of(title, lines(what, 1.0)));
    let compacting = compacting(reader, &series);
    sizes.chain(counts).chain(compacting).collect()
}

/// The line of one level; nothing where it stayed empty.
fn line(reader: &RecordingReader, series: &str, level: u32, column: &str, factor: f64) -> Option<Line> {
    let points = reader.column(series, column, factor)?;
    let used = points.iter().any(|point| point.mean.is_some_and(|value| value > 0.0));
    used.then(|| Line { name: format!("level {level}"), points: reader.line(points, LIMIT) })
}

/// The input of the compactions that run, where the engine counts it for all levels together.
fn compacting(reader: &RecordingReader, series: &str) -> Option<Strip> {
    let points = reader.column(series, "compacting_bytes", 1.0 / MIB)?;
    Strip::of("Being compacted (MiB)", vec![Line { name: "all levels".to_owned(), points: reader.line(points, LIMIT) }])
}

/// The columns of the kind `what` (`level3_bytes`), by level.
fn levels<'a>(columns: &[&'a str], what: &str) -> Vec<(u32, &'a str)> {
    let level = |name: &str| name.strip_prefix("level")?.strip_suffix(what)?.strip_suffix('_')?.parse().ok();
    let mut levels: Vec<(u32, &str)> = columns.iter().filter_map(|name| Some((level(name)?, *name))).collect();
    levels.sort_unstable();
    levels
}

#[cfg(test)]
mod tests {
    use super::levels;

    #[test]
    fn levels_are_known_by_their_columns() {
        let columns =
            ["level6_files", "level10_bytes", "level2_bytes", "level_bytes", "levels", "level0_compacting_files"];
        assert_eq!(levels(&columns, "bytes"), [(2, "level2_bytes"), (10, "level10_bytes")]);
        assert_eq!(levels(&columns, "files"), [(6, "level6_files")]);
        assert_eq!(levels(&columns, "compacting_files"), [(0, "level0_compacting_files")]);
    }
}
