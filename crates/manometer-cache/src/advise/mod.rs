//! From a trace to a decision: how much memory, which policy, and whether an SSD tier pays.
//!
//! [`Basis`] says what of a trace is looked at; [`Sample`] sets all policies against LRU on it, [`curves()`] draws those
//! that did best, [`memory()`] finds where more memory stops paying, [`replay`](mod@replay) replays the trace on
//! arrangements and prices them. [`recommend()`] decides by all of that, and by nothing else. [`advise()`] does it all.

mod advice;
mod basis;
mod curves;
mod memory;
mod pricing;
mod rank;
mod recommend;
pub mod replay;
mod shipped;
mod traits;

#[cfg(test)]
mod recommend_tests;

pub use advice::{Advice, AdviseRequest, GoalSummary, PriceSummary, ReplaySummary, advise};
pub use basis::AdviceBasis;
pub use curves::{MissPoint, PolicyCurve, curves, lru_curve, steps};
pub use memory::{MemoryAdvice, memory};
pub use pricing::{PricedTier, PricedTiers, TierKind, WORKLOAD, price};
pub use rank::{PolicyRank, PolicyRanking, PolicySample};
pub use recommend::{
    AdviceSentence, Evidence, PolicyVerdict, Recommendation, SsdComparison, SsdVerdict, best_cached, recommend,
};
pub use replay::{SensitivityChange, SensitivityResult};
pub use shipped::{SHIPPED_PRICES, TierSizes, shipped};
pub use traits::TraceTraits;

use manometer_trace::TraceReader;

use crate::CacheError;

/// Opens the trace anew: it is walked over more than once, and by several threads.
pub type OpenTrace<'a> = &'a (dyn Fn() -> Result<Box<dyn TraceReader>, CacheError> + Sync);
