//! The levels of the primary's log-structured merge tree over time, one strip per level.

use super::{Chart, Drawing};
use crate::source::Source;
use crate::time::{Line, Strip};

pub(super) const CHART: Chart = Chart {
    name: "levels",
    title: "LSM levels",
    reading: "The size of each level of the primary's log-structured merge tree, each on a scale of its own. Levels \
              that stayed empty are left out.",
    spec: include_str!("../../../../charts/levels.vl.json"),
    draw,
};

/// Points of one line: more than this and the pixels of a page run together.
const LIMIT: usize = 600;
const MIB: f64 = 1_048_576.0;

fn draw(source: &Source) -> Drawing {
    let strips = strips(source);
    if strips.is_empty() {
        let notes =
            vec!["The recording holds no level sizes of the primary's engine: this chart is left out.".to_owned()];
        return Drawing { notes, ..Drawing::default() };
    }
    Drawing::of_strips(&strips, &source.spans(), Vec::new())
}

fn strips(source: &Source) -> Vec<Strip> {
    let Some(primary) = source.primary() else { return Vec::new() };
    let series = format!("{}.engine", primary.name);
    let Some(samples) = source.samples(&series) else { return Vec::new() };
    let mut levels: Vec<(u32, &str)> =
        samples.columns.iter().filter_map(|column| Some((level_of(&column.name)?, column.name.as_str()))).collect();
    levels.sort_unstable();
    levels.into_iter().filter_map(|(level, column)| strip(source, &series, level, column)).collect()
}

fn strip(source: &Source, series: &str, level: u32, column: &str) -> Option<Strip> {
    let points = source.column(series, column, 1.0 / MIB)?;
    let used = points.iter().any(|point| point.mean.is_some_and(|mib| mib > 0.0));
    let line = Line { name: "size".to_owned(), points: source.line(points, LIMIT) };
    if used { Strip::of(format!("Level {level} (MiB)"), vec![line]) } else { None }
}

/// The level whose size in bytes the column `name` holds: `level3_bytes`.
fn level_of(name: &str) -> Option<u32> {
    name.strip_prefix("level")?.strip_suffix("_bytes")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::level_of;

    #[test]
    fn levels_are_known_by_their_columns() {
        assert_eq!(level_of("level0_bytes"), Some(0));
        assert_eq!(level_of("level6_files"), None);
        assert_eq!(level_of("level_bytes"), None);
        assert_eq!(level_of("levels"), None);
    }
}
