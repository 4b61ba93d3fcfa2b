//! Whether the levels of an LSM tree still move.

use crate::statistics::SIGNIFICANCE;
use crate::statistics::moments::mean;
use crate::statistics::trend::Trend;

/// A level moves where its trend is this share of all levels together.
pub const MOVING_SHARE: f64 = 0.05;

/// What the line through a level's size moves over a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Move {
    /// The level.
    pub level: u32,
    /// As a share of all levels; below 0 it shrinks.
    pub share: f64,
}

/// The level of a column of an engine's state that holds its bytes.
pub fn level_of(column: &str) -> Option<u32> {
    column.strip_prefix("level")?.strip_suffix("_bytes")?.parse().ok()
}

/// The level that moves most, where any moves: each level with its sizes in bytes, interval by interval.
pub fn greatest_move<'a>(levels: impl IntoIterator<Item = (u32, &'a [f64])> + Clone) -> Option<Move> {
    let all: f64 = levels.clone().into_iter().filter_map(|(_, bytes)| mean(bytes)).sum();
    let moves = levels.into_iter().filter_map(|(level, bytes)| {
        let trend = Trend::of(bytes).filter(|trend| trend.p_value <= SIGNIFICANCE)?;
        Some(Move { level, share: trend.rise / all })
    });
    let greatest = moves.max_by(|one, other| one.share.abs().total_cmp(&other.share.abs()))?;
    (greatest.share.is_finite() && greatest.share.abs() >= MOVING_SHARE).then_some(greatest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_moves_by_its_share_of_all() {
        let still = vec![1000.0; 30];
        let rising: Vec<f64> = (0..30).map(|t| 100.0 + 10.0 * f64::from(t)).collect();
        let found = greatest_move([(0, still.as_slice()), (1, rising.as_slice())]).unwrap();
        assert_eq!(found.level, 1);
        assert!((found.share - 290.0 / 1245.0).abs() < 1e-9, "{found:?}");
        assert_eq!(greatest_move([(0, still.as_slice())]), None);
        let slightly: Vec<f64> = (0..30).map(|t| 100.0 + f64::from(t)).collect();
        assert_eq!(greatest_move([(0, still.as_slice()), (1, slightly.as_slice())]), None);
        assert_eq!(greatest_move([(0, [0.0; 30].as_slice())]), None);
    }

    #[test]
    fn only_columns_of_level_sizes_are_levels() {
        assert_eq!(level_of("level6_bytes"), Some(6));
        assert_eq!(level_of("level6_files"), None);
        assert_eq!(level_of("blob_bytes"), None);
    }
}
