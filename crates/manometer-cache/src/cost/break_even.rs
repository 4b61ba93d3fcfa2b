//! The break-even price of a cache.

use super::bill::ArrangementCost;
use super::result::ArrangementResult;

/// When an arrangement with a cache costs as much per MB/s as its origin without the cache.
#[derive(Debug, Clone, PartialEq)]
pub enum BreakEven {
    /// The break-even price per GB of the cache's devices; negative if a cache would not pay even for free.
    At {
        /// The index of the result of the origin alone.
        alone: usize,
        /// The break-even price.
        per_gb: f64,
        /// The current price.
        per_gb_now: f64,
    },
    /// The reason why it is unknown.
    Unknown(String),
}

impl BreakEven {
    /// Whether the cache pays at the current price, if known.
    pub fn pays(&self) -> Option<bool> {
        match self {
            Self::At { per_gb, per_gb_now, .. } => Some(per_gb >= per_gb_now),
            Self::Unknown(_) => None,
        }
    }
}

/// The break-even of each result with a cache, by index.
pub fn break_even(outcomes: &[ArrangementResult], costs: &[ArrangementCost]) -> Vec<(usize, BreakEven)> {
    let with_cache = |(index, cost): (usize, &ArrangementCost)| {
        let (gb, per_gb_now) = cost.cache_gb?;
        let outcome = outcomes.get(index)?;
        let payback = match origin_only(outcome, outcomes) {
            Ok(alone) => {
                let target = costs.get(alone)?.per_mb_per_s * outcome.mb_per_s;
                let without_cache = cost.total - gb * per_gb_now;
                BreakEven::At { alone, per_gb: (target - without_cache) / gb, per_gb_now }
            }
            Err(reason) => BreakEven::Unknown(reason),
        };
        Some((index, payback))
    };
    costs.iter().enumerate().filter_map(with_cache).collect()
}

/// The index of the result of the same origin without a cache.
fn origin_only(outcome: &ArrangementResult, outcomes: &[ArrangementResult]) -> Result<usize, String> {
    let same = |other: &ArrangementResult| {
        other.cache.is_none() && other.workload == outcome.workload && other.origin == outcome.origin
    };
    let found: Vec<usize> = (0..outcomes.len()).filter(|index| same(&outcomes[*index])).collect();
    match found[..] {
        [one] => Ok(one),
        [] => Err("the results have no such origin without a cache".to_owned()),
        _ => {
            let names: Vec<&str> = found.iter().map(|index| outcomes[*index].arrangement.as_str()).collect();
            Err(format!("{} have the same origin: set their `raid`, or leave all but one out", names.join(", ")))
        }
    }
}
