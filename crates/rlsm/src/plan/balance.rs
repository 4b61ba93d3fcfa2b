//! When a range is rewritten, divided or joined with its neighbour.

use super::settings::{PlanSettings, RANGE_RUNS_MAX};

/// How a range stands once a compaction has reached it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// All that its runs hold, in bytes, those being appended included.
    pub bytes: u64,
    /// The part of it that is superseded, as far as is known.
    pub stale_bytes: u64,
    /// Its runs, the one being appended included.
    pub runs: usize,
    /// What moves its thresholds apart from other ranges'.
    pub dice: u64,
}

/// What becomes of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Balance {
    /// What came is appended.
    Append,
    /// All of it is written anew without what is superseded, in so many parts.
    Rewrite {
        /// How many ranges it becomes, at least 1.
        parts: usize,
    },
}

/// Decides about one range.
pub fn balance(settings: &PlanSettings, load: Load) -> Balance {
    let live_bytes = load.bytes.saturating_sub(load.stale_bytes).max(1);
    let split = live_bytes > settings.split_bytes(load.dice);
    let stale = load.stale_bytes as f64 > settings.stale_limit(load.dice) * live_bytes as f64;
    if !split && !stale && load.runs <= RANGE_RUNS_MAX {
        return Balance::Append;
    }
    // Parts of three tenths of the base leave each room to grow to four times its size: fewer, larger divisions write
    // less than many halvings.
    let part_bytes = 0.25 * settings.split_ratio * settings.range_bytes as f64;
    let parts = if split { (live_bytes as f64 / part_bytes).round() as usize } else { 1 };
    Balance::Rewrite { parts: parts.max(1) }
}

/// The neighbour that a small range at `number` is joined with: the lighter one (seed 002, Figure 3.5), if both together
/// stay below what a range begins with. `None` if the range is not small or neither neighbour fits.
pub fn lighter_neighbour(settings: &PlanSettings, range_bytes: &[u64], number: usize) -> Option<usize> {
    let begin_bytes = (0.25 * settings.split_ratio * settings.range_bytes as f64) as u64;
    let bytes = range_bytes[number];
    if bytes >= begin_bytes / 4 {
        return None;
    }
    let neighbours = [number.checked_sub(1), Some(number + 1).filter(|&above| above < range_bytes.len())];
    let lightest = neighbours.into_iter().flatten().min_by_key(|&neighbour| range_bytes[neighbour])?;
    (range_bytes[lightest] + bytes <= begin_bytes).then_some(lightest)
}
