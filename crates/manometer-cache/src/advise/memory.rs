//! The recommended amount of memory.

use serde::Serialize;

use super::curves::MissPoint;
use super::memory_choice::{MemoryChoice, MemoryReason};
use super::rank::PolicyRanking;

/// The recommended amount of memory, and the effect of half and twice as much.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryAdvice {
    /// The recommended policy, whose misses `recommended`, `half` and `twice` have.
    pub policy: String,
    /// Why the size is recommended.
    pub reason: MemoryReason,
    /// The knees of LRU's curve.
    pub knees: Vec<MissPoint>,
    /// The recommendation; if no cache has hits, the smallest size.
    pub recommended: MissPoint,
    /// Half as much; `None` if that is not even 1, or too small for an estimate from a sample.
    pub half: Option<MissPoint>,
    /// Twice as much, which may be more than all objects take.
    pub twice: Option<MissPoint>,
    /// Room for all objects: the remaining misses are first requests.
    pub all: MissPoint,
}

impl MemoryAdvice {
    /// The chosen size with the misses of the recommended policy: those of the ranking, and with half and twice as much
    /// those of `points`.
    pub fn new(choice: MemoryChoice, policy: &str, ranking: &PolicyRanking, points: &[MissPoint]) -> Self {
        let MemoryChoice { reason, knees, recommended, all } = choice;
        let at = |capacity: u64| points.iter().find(|point| point.capacity == capacity).copied();
        let [half, twice] = half_and_twice(recommended.capacity).map(at);
        let recommended = ranking.of(policy).map_or(recommended, |ranked| recommended.ranked(ranked, ranking));
        Self { policy: policy.to_owned(), reason, knees, recommended, half, twice, all }
    }

    /// Whether all objects fit.
    pub fn all_fit(&self) -> bool {
        self.recommended.capacity >= self.all.capacity
    }
}

/// Half and twice a capacity.
pub(super) fn half_and_twice(capacity: u64) -> [u64; 2] {
    [capacity / 2, capacity.saturating_mul(2)]
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::curves::PolicyCurve;
    use super::*;

    pub fn curve(policy: &str, ratios: &[f64]) -> PolicyCurve {
        let all = (1 << (ratios.len() - 1)) as f64;
        let point = |(at, ratio): (usize, &f64)| MissPoint {
            capacity: 1 << at,
            bytes: 4096 << at,
            share: f64::from(1 << at) / all,
            miss_ratio: *ratio,
            error: None,
        };
        PolicyCurve { policy: policy.to_owned(), points: ratios.iter().enumerate().map(point).collect() }
    }
}
