//! From a trace to a decision: how much memory, which policy, and whether an SSD tier pays.
//!
//! [`AdviceBasis`] selects the part of the trace to analyse, [`PolicySample`] compares all policies with LRU on it,
//! [`curves()`] computes the curves of the best ones, [`memory()`] finds the recommended amount of memory, and
//! [`replay`](mod@replay) replays the trace on arrangements, which are then priced. [`recommend()`] decides by these
//! results alone. [`advise()`] does all of it.

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
    AdviceInputs, AdviceSentence, PolicyVerdict, Recommendation, SsdComparison, SsdVerdict, best_cached, recommend,
};
pub use replay::{SensitivityChange, SensitivityResult};
pub use shipped::{SHIPPED_PRICES, TierSizes, shipped};
pub use traits::TraceTraits;

use manometer_trace::TraceReader;

use crate::CacheError;

/// Opens the trace again: it is read more than once, and by several threads.
pub type OpenTrace<'a> = &'a (dyn Fn() -> Result<Box<dyn TraceReader>, CacheError> + Sync);
