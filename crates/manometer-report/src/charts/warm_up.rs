//! The hit ratio of the engine's cache and the throughput, from the first moment on.

use super::{Chart, Draw, Drawing};
use crate::source::Source;
use crate::thin::Point;
use crate::time::{Line, Strip};

pub(super) const CHART: Chart = Chart {
    name: "warm-up",
    title: "Cache and throughput through the warm-up",
    origin: Some("dos Santos 2015 (seed 001), Figures 6.2 and 6.3"),
    reading: "The share of look-ups that the engine's cache answered, above, and the primary's throughput beneath, the \
              warm-up included. While the hit ratio still climbs, the cache is not warm, and what is measured is its \
              filling.",
    spec: include_str!("../../../../charts/warm-up.vl.json"),
    draw: Draw::One(draw),
};

/// Points of one line: more than this and the pixels of a page run together.
const LIMIT: usize = 600;

/// The caches of engines: name, what was found, what was not.
const CACHES: [(&str, &str, &str); 3] = [
    ("block cache", "block_cache_hits", "block_cache_misses"),
    ("keys", "keyspace_hits", "keyspace_misses"),
    ("items", "get_hits", "get_misses"),
];

fn draw(source: &Source) -> Drawing {
    let Some(primary) = source.primary() else {
        return Drawing::left_out("The recording has no primary: this chart is left out.");
    };
    let series = format!("{}.engine", primary.name);
    let lines = CACHES.into_iter().filter_map(|cache| line(source, &series, cache)).collect();
    let Some(ratios) = Strip::of("Hit ratio (share of look-ups)", lines) else {
        return Drawing::left_out("The primary's engine tells nothing of a cache: this chart is left out.");
    };
    let points = source.line(source.throughput(primary).unwrap_or_default(), LIMIT);
    let throughput = Line { name: primary.name.clone(), points };
    let throughput = Strip::of(format!("{}: throughput ({})", primary.name, primary.unit), vec![throughput]);
    let strips: Vec<Strip> = std::iter::once(ratios).chain(throughput).collect();
    Drawing::of_strips(&strips, &source.spans(), Vec::new())
}

fn line(source: &Source, series: &str, (name, hits, misses): (&str, &str, &str)) -> Option<Line> {
    let (hits, misses) = (source.column(series, hits, 1.0)?, source.column(series, misses, 1.0)?);
    Some(Line { name: name.to_owned(), points: source.line(ratios(&hits, &misses), LIMIT) })
}

/// The share of hits, moment by moment; a moment without look-ups has none.
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
