//! From a trace to a decision: how much memory, which policy, and whether an SSD tier pays.
//!
//! [`Basis`] says what of a trace is looked at; [`Sample`] sets all policies against LRU on it, [`curves()`] draws those
//! that did best, [`memory()`] finds where more memory stops paying, [`tiers`](mod@tiers) replays the trace on
//! arrangements and prices them. [`recommend()`] decides by all of that, and by nothing else. [`advise()`] does it all.

mod advice;
mod basis;
mod curves;
mod memory;
mod pricing;
mod rank;
mod recommend;
mod shipped;
pub mod tiers;
mod traits;
mod words;

#[cfg(test)]
mod recommend_tests;

pub use advice::{Advice, Asked, GoalTold, PricesTold, ReplayTold, advise};
pub use basis::Basis;
pub use curves::{MissPoint, PolicyCurve, curves, lru_curve, steps};
pub use memory::{Memory, memory};
pub use pricing::{Priced, PricedTier, Tier, WORKLOAD, price};
pub use rank::{Ranked, Ranking, Sample};
pub use recommend::{Evidence, Pays, PolicyVerdict, Recommendation, Sentence, SsdVerdict, best_cached, recommend};
pub use shipped::{SHIPPED_PRICES, Sizes, shipped};
pub use tiers::{Change, Varied};
pub use traits::Traits;

use manometer_trace::TraceReader;

use crate::CacheError;

/// Opens the trace anew: it is walked over more than once, and by several threads.
pub type Opens<'a> = &'a (dyn Fn() -> Result<Box<dyn TraceReader>, CacheError> + Sync);
