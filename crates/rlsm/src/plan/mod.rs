//! What to compact, where keys go and when a range is rebalanced: decisions as values, made from figures alone.
//!
//! Nothing here reads or writes. The engine carries out what these functions say, and so does the simulator in
//! `examples/`, which counts bytes only.

mod balance;
mod choose;
mod density;
mod place;
mod postpone;
#[cfg(test)]
mod seed_tests;
mod settings;

pub use balance::{Balance, Load, balance, lighter_neighbour};
pub use choose::{Choice, choose, compaction_is_due};
pub use density::density;
pub use place::{Gap, Place, Span, place, settle_gap};
pub use postpone::can_wait;
pub use settings::{LEVEL0_RUNS_MAX, PlanSettings, RANGE_RUNS_MAX};

/// A flushed run of Level 0, as far as decisions need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flushed {
    /// What the run takes on the device, in bytes.
    pub bytes: u64,
    /// How many versions it holds.
    pub entries: u64,
    /// Its lowest and highest key.
    pub span: Span,
}
