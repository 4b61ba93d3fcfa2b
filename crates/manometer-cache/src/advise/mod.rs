//! From a trace to a decision: how much memory, which policy, and whether an SSD tier pays.
//!
//! [`CacheAnalysis`] chooses the memory by LRU's curve and then compares all policies at that size. [`replay`](mod@replay)
//! replays the trace on arrangements, which are then priced. [`recommend()`] decides by these results alone, with the
//! errors of the model and of the prices. [`advise()`] does all of it.

mod advice;
mod advice_verdict;
mod basis;
mod cache_analysis;
mod curves;
mod memory;
mod memory_choice;
mod memory_sentences;
mod miss_counts;
mod model_error;
mod paired_difference;
mod policy_sentences;
mod policy_verdict;
mod pricing;
mod rank;
mod recommend;
pub mod replay;
mod sentence;
mod shipped;
mod ssd_sentences;
mod ssd_verdict;
mod tier_outcome;
mod traits;

#[cfg(test)]
mod recommend_tests;

pub use advice::{Advice, AdviseRequest, GoalSummary, PriceSummary, ReplaySummary, advise, read_character};
pub use advice_verdict::AdviceVerdict;
pub use basis::AdviceBasis;
pub use cache_analysis::CacheAnalysis;
pub use curves::{MissPoint, PolicyCurve, curves, lru_curve, steps};
pub use memory::MemoryAdvice;
pub use memory_choice::{MemoryChoice, MemoryReason};
pub use model_error::SPEED_UP_ERROR;
pub use policy_verdict::{PolicyOutcome, PolicyVerdict};
pub use pricing::{PricedTier, PricedTiers, TierKind, WORKLOAD, price};
pub use rank::{PolicyRank, PolicyRanking, PolicySample};
pub use recommend::{AdviceInputs, Recommendation, recommend};
pub use replay::{SensitivityChange, SensitivityResult};
pub use sentence::AdviceSentence;
pub use shipped::{SHIPPED_PRICES, TierSizes, shipped};
pub use ssd_sentences::NamedPrices;
pub use ssd_verdict::{SMALL_MACHINE_MEMORY, SsdComparison, SsdVerdict, best_cached};
pub use tier_outcome::TierOutcome;
pub use traits::TraceTraits;

use manometer_trace::TraceReader;

use crate::CacheError;

/// Opens the trace again: it is read more than once, and by several threads.
pub type OpenTrace<'a> = &'a (dyn Fn() -> Result<Box<dyn TraceReader>, CacheError> + Sync);
