//! The hit ratio of the engine's cache and the throughput, from the start of the run.

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::downsample::Point;
use crate::recording_reader::RecordingReader;
use crate::strips::{Line, Strip};

pub(crate) const CHART: Chart = Chart {
    name: "warm-up",
    title: "Cache and throughput through the warm-up",
    origin: Some("dos Santos 2015, Figures 6.2 and 6.3"),
    caption: "The hit ratio of the engine's cache, above, and the primary's throughput, below, with the warm-up. While \
              the hit ratio still climbs, the cache is not warm: the run measures how it fills.",
    spec: include_str!("../../../charts/warm-up.vl.json"),
    input: ChartInput::OneRecording(draw),
};

/// Points of one line: more than this and the pixels of a page run together.
const LIMIT: usize = 600;

/// The caches of engines: name, what was found, what was not.
const CACHES: [(&str, &str, &str); 3] = [
    ("block cache", "block_cache_hits", "block_cache_misses"),
    ("keys", "keyspace_hits", "keyspace_misses"),
    ("items", "get_hits", "get_misses"),
];

fn draw(reader: &RecordingReader) -> ChartContent {
    let Some(primary) = reader.primary() else {
        return ChartContent::empty("The recording has no primary: this chart is left out.");
    };
    let series = format!("{}.engine", primary.name);
    let lines = CACHES.into_iter().filter_map(|cache| line(reader, &series, cache)).collect();
    let Some(ratios) = Strip::of("Hit ratio (share of look-ups)", lines) else {
        return ChartContent::empty("The primary's engine has no counters of a cache: this chart is left out.");
    };
    let points = reader.line(reader.throughput(primary).unwrap_or_default(), LIMIT);
    let throughput = Line { name: primary.name.clone(), points };
    let throughput = Strip::of(format!("{}: throughput ({})", primary.name, primary.unit), vec![throughput]);
    let strips: Vec<Strip> = std::iter::once(ratios).chain(throughput).collect();
    ChartContent::of_strips(strips, &reader.spans(), Vec::new())
}

fn line(reader: &RecordingReader, series: &str, (name, hits, misses): (&str, &str, &str)) -> Option<Line> {
    let (hits, misses) = (reader.column(series, hits, 1.0)?, reader.column(series, misses, 1.0)?);
    Some(Line { name: name.to_owned(), points: reader.line(ratios(&hits, &misses), LIMIT) })
}

/// The share of hits in each sample; one without look-ups has none.
fn ratios(hits: &[Point], misses: &[Point]) -> Vec<Point> {
    let ratio = |(hits, misses): (&Point, &Point)| {
        let both = hits.mean.zip(misses.mean).filter(|(hits, misses)| hits + misses > 0.0);
        Point::of(hits.t_s, both.map(|(hits, misses)| hits / (hits + misses)))
    };
    hits.iter().zip(misses).map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_without_look_ups_has_no_hit_ratio() {
        let points = |values: [Option<f64>; 3]| values.map(|value| Point::of(1.0, value));
        let ratios = ratios(&points([Some(3.0), Some(0.0), None]), &points([Some(1.0), Some(0.0), Some(5.0)]));
        assert_eq!(ratios.iter().map(|point| point.mean).collect::<Vec<_>>(), [Some(0.75), None, None]);
    }
}
