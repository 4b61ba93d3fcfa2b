//! Compaction decisions: what to compact, which range takes a key, when a range is rebalanced.
//!
//! Pure functions of sizes and spans, without I/O. The engine carries out what they return; the simulator in
//! `examples/` only counts bytes.

mod choose;
mod density;
mod place;
mod postpone;
mod rebalance;
#[cfg(test)]
mod seed_tests;
mod settings;

pub use choose::{CompactionChoice, choose_compaction, is_compaction_due};
pub use density::density;
pub use place::{GapAction, KeyPlacement, KeySpan, place_key, plan_gap};
pub use postpone::can_postpone;
pub use rebalance::{RangeAction, RangeLoad, merge_partner, plan_range};
pub use settings::{CompactionSettings, LEVEL0_RUNS_MAX, RANGE_RUNS_MAX};

/// A run of Level 0, as far as decisions need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level0Run {
    /// Bytes that the run takes on the device.
    pub bytes: u64,
    /// Number of versions.
    pub entries: u64,
    /// The lowest and the highest key.
    pub span: KeySpan,
}
