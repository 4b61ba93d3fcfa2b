//! When a range is rewritten, partitioned or merged with its neighbour.

use super::settings::{CompactionSettings, RANGE_RUNS_MAX};

/// The state of a range that a compaction has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeLoad {
    /// Bytes of its runs, including the one being appended.
    pub bytes: u64,
    /// The superseded part of these bytes: an estimate.
    pub stale_bytes: u64,
    /// The number of its runs, including the one being appended.
    pub runs: usize,
    /// Spreads the thresholds of ranges.
    pub jitter: u64,
}

/// What to do with a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeAction {
    /// Append the new entries as a run.
    Append,
    /// Rewrite all of it without superseded versions.
    Rewrite {
        /// The number of ranges it becomes, at least 1.
        parts: usize,
    },
}

/// Decides what to do with a range.
pub fn plan_range(settings: &CompactionSettings, load: RangeLoad) -> RangeAction {
    let live_bytes = load.bytes.saturating_sub(load.stale_bytes).max(1);
    let split = live_bytes > settings.split_bytes(load.jitter);
    let stale = load.stale_bytes as f64 > settings.stale_limit(load.jitter) * live_bytes as f64;
    if !split && !stale && load.runs <= RANGE_RUNS_MAX {
        return RangeAction::Append;
    }
    // Parts of three tenths of the base size can grow to four times their size: fewer, larger divisions write less than
    // many halvings.
    let part_bytes = 0.25 * settings.split_ratio * settings.range_bytes as f64;
    let parts = if split { (live_bytes as f64 / part_bytes).round() as usize } else { 1 };
    RangeAction::Rewrite { parts: parts.max(1) }
}

/// The range that the small range at `number` is merged with: its lighter neighbour (Song 2018, Figure 3.5), if both
/// together stay below the initial size of a range. `None` if the range is not small or the neighbour is too large.
pub fn merge_partner(settings: &CompactionSettings, range_bytes: &[u64], number: usize) -> Option<usize> {
    let begin_bytes = (0.25 * settings.split_ratio * settings.range_bytes as f64) as u64;
    let bytes = range_bytes[number];
    if bytes >= begin_bytes / 4 {
        return None;
    }
    let neighbours = [number.checked_sub(1), Some(number + 1).filter(|&above| above < range_bytes.len())];
    let lightest = neighbours.into_iter().flatten().min_by_key(|&neighbour| range_bytes[neighbour])?;
    (range_bytes[lightest] + bytes <= begin_bytes).then_some(lightest)
}
