//! The recommended amount of memory.

use serde::Serialize;

use super::curves::{MissPoint, PolicyCurve};
use super::rank::PolicyRanking;
use crate::curve::{CurvePoint, knees};

/// The share of all objects to cache if the curve has no knee: the cache thesis's 20 % of 20 %.
pub const SHARE_WITHOUT_KNEE: f64 = 0.04;

/// The recommended amount of memory, and the effect of half and twice as much.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryAdvice {
    /// The recommended policy, whose misses `recommended`, `half` and `twice` have.
    pub policy: String,
    /// The knees of LRU's curve.
    pub knees: Vec<MissPoint>,
    /// The recommendation: the last knee, or without one a share of all objects.
    pub recommended: MissPoint,
    /// Half as much, or the next smaller size; `None` below the curve's first point.
    pub half: Option<MissPoint>,
    /// Twice as much, up to the size of all objects.
    pub twice: MissPoint,
    /// Room for all objects: the remaining misses are first requests.
    pub all: MissPoint,
}

/// The recommendation by LRU's curve, which is known at all sizes; `None` for a curve without points.
pub fn memory(curve: &PolicyCurve) -> Option<MemoryAdvice> {
    let points = &curve.points;
    let (first, all) = (points.first()?, points.last()?);
    let plain: Vec<CurvePoint> = points.iter().map(MissPoint::curve_point).collect();
    let at_most = |capacity: u64| points.iter().rfind(|point| point.capacity <= capacity).copied();
    let knees: Vec<MissPoint> = knees(&plain).iter().filter_map(|knee| at_most(knee.capacity)).collect();
    let share = points.iter().rfind(|point| point.share <= SHARE_WITHOUT_KNEE);
    let recommended = knees.last().or(share).unwrap_or(first);
    Some(MemoryAdvice {
        policy: curve.policy.clone(),
        recommended: *recommended,
        half: at_most(recommended.capacity / 2),
        twice: at_most(recommended.capacity.saturating_mul(2)).unwrap_or(*all),
        all: *all,
        knees,
    })
}

impl MemoryAdvice {
    /// The same sizes with the misses of the recommended policy: those of the ranking at the recommended size, and of
    /// `simulate` at others.
    pub(super) fn with_policy(
        self,
        policy: &str,
        ranking: &PolicyRanking,
        simulate: impl Fn(&MissPoint) -> Option<CurvePoint>,
    ) -> Self {
        let missed = |point: MissPoint| {
            let simulated = simulate(&point);
            simulated.map_or(point, |found| MissPoint { miss_ratio: found.miss_ratio, error: found.error, ..point })
        };
        let recommended =
            ranking.of(policy).map_or(self.recommended, |ranked| self.recommended.ranked(ranked, ranking));
        let twice = match self.twice.capacity == recommended.capacity {
            true => recommended,
            false => missed(self.twice),
        };
        Self { policy: policy.to_owned(), recommended, half: self.half.map(missed), twice, ..self }
    }
}

#[cfg(test)]
pub(super) mod tests {
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

    #[test]
    fn memory_ends_at_the_last_knee() {
        let found = memory(&curve("arc", &[1.0, 0.6, 0.6, 0.6, 0.1, 0.1, 0.1])).unwrap();
        let capacities: Vec<u64> = found.knees.iter().map(|knee| knee.capacity).collect();
        assert_eq!((capacities, found.recommended.capacity), (vec![2, 16], 16));
        assert_eq!((found.half.map(|half| half.miss_ratio), found.twice.miss_ratio), (Some(0.6), 0.1));
        assert_eq!((found.all.capacity, found.policy.as_str()), (64, "arc"));
    }

    #[test]
    fn without_a_knee_a_share_of_all_is_taken() {
        let found = memory(&curve("lru", &[1.0, 0.8, 0.6, 0.4, 0.2, 0.0])).unwrap();
        assert!(found.knees.is_empty());
        assert_eq!((found.recommended.capacity, found.half, found.twice.capacity), (1, None, 2));
        let one = memory(&curve("lru", &[0.25])).unwrap();
        assert_eq!((one.recommended.capacity, one.half, one.twice.capacity), (1, None, 1));
        assert_eq!(memory(&PolicyCurve { policy: "lru".to_owned(), points: Vec::new() }), None);
    }
}
