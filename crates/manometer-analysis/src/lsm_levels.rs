//! The levels of an LSM tree: their columns, and whether their sizes have a trend.

use manometer_measure::Samples;

use crate::statistics::SIGNIFICANCE;
use crate::statistics::moments::mean;
use crate::statistics::trend::Trend;

/// A level's trend counts from this share of the total size of all levels on.
pub const TREND_SHARE: f64 = 0.05;

/// The trend of a level's size over a period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelTrend {
    /// The level.
    pub level: u32,
    /// Its rise over the period as a share of all levels; below 0 it shrinks.
    pub share: f64,
}

/// The level whose size in bytes an engine's `column` holds.
pub fn level_of(column: &str) -> Option<u32> {
    column.strip_prefix("level")?.strip_suffix("_bytes")?.parse().ok()
}

/// The columns of `engine` that hold the sizes of levels.
pub(crate) fn level_columns(engine: &Samples) -> impl Iterator<Item = (u32, &str)> {
    engine.columns.iter().filter_map(|column| Some((level_of(&column.name)?, column.name.as_str())))
}

/// The largest trend among `levels`, each with its sizes in bytes per sample interval; `None` where all are stable.
pub fn largest_trend<'a>(levels: impl IntoIterator<Item = (u32, &'a [f64])> + Clone) -> Option<LevelTrend> {
    let all: f64 = levels.clone().into_iter().filter_map(|(_, bytes)| mean(bytes)).sum();
    let trends = levels.into_iter().filter_map(|(level, bytes)| {
        let trend = Trend::of(bytes).filter(|trend| trend.p_value <= SIGNIFICANCE)?;
        Some(LevelTrend { level, share: trend.rise / all })
    });
    let largest = trends.max_by(|one, other| one.share.abs().total_cmp(&other.share.abs()))?;
    (largest.share.is_finite() && largest.share.abs() >= TREND_SHARE).then_some(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trend_is_a_share_of_all_levels() {
        let stable = vec![1000.0; 30];
        let rising: Vec<f64> = (0..30).map(|t| 100.0 + 10.0 * f64::from(t)).collect();
        let found = largest_trend([(0, stable.as_slice()), (1, rising.as_slice())]).unwrap();
        assert_eq!(found.level, 1);
        assert!((found.share - 290.0 / 1245.0).abs() < 1e-9, "{found:?}");
        assert_eq!(largest_trend([(0, stable.as_slice())]), None);
        let slightly: Vec<f64> = (0..30).map(|t| 100.0 + f64::from(t)).collect();
        assert_eq!(largest_trend([(0, stable.as_slice()), (1, slightly.as_slice())]), None);
        assert_eq!(largest_trend([(0, [0.0; 30].as_slice())]), None);
    }

    #[test]
    fn only_columns_of_level_sizes_have_a_level() {
        assert_eq!(level_of("level6_bytes"), Some(6));
        assert_eq!(level_of("level6_files"), None);
        assert_eq!(level_of("blob_bytes"), None);
    }
}
