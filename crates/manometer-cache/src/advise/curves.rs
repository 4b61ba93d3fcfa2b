//! The miss-ratio curves of the best policies.

use serde::Serialize;

use super::rank::{PolicyRank, PolicyRanking};
use super::{AdviceBasis, OpenTrace, PolicySample};
use crate::CacheError;
use crate::curve::{self, CurveOptions, CurvePoint, MissRatioCurve};
use crate::policy_spec::PolicySpec;
use crate::trace_scan::ExcludedRequests;

/// Points of LRU's curve between two sizes at which other policies are simulated; it has 32 points per doubling.
const STRIDE: usize = 16;
/// The number of sizes: ten doublings.
const SIZES: usize = 21;

/// A point of a miss-ratio curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MissPoint {
    /// The capacity in objects or bytes.
    pub capacity: u64,
    /// The capacity in bytes.
    pub bytes: u64,
    /// The capacity divided by the size of all objects.
    pub share: f64,
    /// The miss ratio.
    pub miss_ratio: f64,
    /// Half the width of its 95 % confidence interval, if it is estimated.
    pub error: Option<f64>,
}

impl MissPoint {
    /// A point of a trace whose objects have a size of `footprint`.
    pub(super) fn new(point: &CurvePoint, basis: &AdviceBasis, footprint: f64) -> Self {
        Self {
            capacity: point.capacity,
            bytes: basis.bytes(point.capacity),
            share: (point.capacity as f64 / footprint).min(1.0),
            miss_ratio: point.miss_ratio,
            error: point.error,
        }
    }

    pub(super) fn curve_point(&self) -> CurvePoint {
        CurvePoint { capacity: self.capacity, miss_ratio: self.miss_ratio, error: self.error }
    }

    /// The point of a policy that was ranked at this capacity: exact if all keys were simulated.
    pub(super) fn ranked(self, ranked: &PolicyRank, ranking: &PolicyRanking) -> Self {
        let miss_ratio = ranked.miss_ratios[0];
        let error = ranked.error.filter(|_| ranking.rate < 1.0).map(|error| error * miss_ratio);
        Self { miss_ratio, error, ..self }
    }
}

/// The miss-ratio curve of a policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyCurve {
    /// The policy.
    pub policy: String,
    /// The points by capacity.
    pub points: Vec<MissPoint>,
}

impl PolicyCurve {
    pub(super) fn new(policy: String, points: &[CurvePoint], basis: &AdviceBasis, footprint: f64) -> Self {
        Self { policy, points: points.iter().map(|point| MissPoint::new(point, basis, footprint)).collect() }
    }
}

/// LRU's curve at all sizes, up to the room for all objects, and the requests that no cache serves.
///
/// # Errors
/// The trace cannot be read, or has no request that a cache serves.
pub fn lru_curve(opens: OpenTrace<'_>, basis: &AdviceBasis) -> Result<(MissRatioCurve, ExcludedRequests), CacheError> {
    let (mut lru, excluded) = lru_at(opens, basis, &[])?;
    if let Some(all) = lru.all {
        lru.points.retain(|point| point.capacity < all.capacity);
        lru.points.push(all);
    }
    Ok((lru, excluded))
}

/// LRU's curve at some capacities, or at all if there are none.
pub(super) fn lru_at(
    opens: OpenTrace<'_>,
    basis: &AdviceBasis,
    capacities: &[u64],
) -> Result<(MissRatioCurve, ExcludedRequests), CacheError> {
    let wanted = CurveOptions {
        by_size: basis.by_size,
        capacities: capacities.to_vec(),
        sampling: Some(basis.lru_sampling()),
        windows: None,
        seed: basis.seed,
    };
    let drawn = curve::curves(&mut *opens()?, &[PolicySpec::lru()], &wanted)?;
    match drawn.curves.into_iter().next().filter(|lru| !lru.points.is_empty() && lru.footprint > 0.0) {
        None => {
            let text = "the trace has no request that a cache could answer: only deletes, or objects of no bytes";
            Err(CacheError::Invalid(text.to_owned()))
        }
        Some(lru) => Ok((lru, drawn.excluded)),
    }
}

/// The points of LRU's curve at the sizes at which other policies are simulated, up to the size of all objects.
pub fn steps(points: &[CurvePoint]) -> Vec<CurvePoint> {
    let stride = (points.len() / SIZES).clamp(1, STRIDE);
    let mut steps: Vec<CurvePoint> = points.iter().rev().step_by(stride).take(SIZES).copied().collect();
    steps.reverse();
    steps
}

/// The curves of policies at the sizes of `lru`.
///
/// # Errors
/// A policy does not exist.
pub fn curves(
    sample: &PolicySample,
    basis: &AdviceBasis,
    policies: &[String],
    lru: &[CurvePoint],
    footprint: f64,
) -> Result<Vec<PolicyCurve>, CacheError> {
    let others: Vec<PolicySpec> =
        policies.iter().filter(|policy| *policy != "lru").map(|policy| policy.parse()).collect::<Result<_, _>>()?;
    let mut drawn = sample.curves(&others, lru).into_iter();
    let points = policies.iter().map(|policy| {
        let points = if policy == "lru" { lru.to_vec() } else { drawn.next().unwrap_or_default() };
        PolicyCurve::new(policy.clone(), &points, basis, footprint)
    });
    Ok(points.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_end_where_all_objects_fit_in_and_are_no_more_than_needed() {
        let points: Vec<CurvePoint> =
            (1..=900).map(|capacity| CurvePoint { capacity, miss_ratio: 0.5, error: None }).collect();
        let steps = steps(&points);
        assert_eq!((steps.len(), steps[20].capacity, steps[19].capacity), (21, 900, 884));
        assert_eq!(super::steps(&points[..1]), points[..1]);
        assert_eq!(super::steps(&points[..30]).len(), 21);
    }

    #[test]
    fn curves_are_drawn_at_the_same_sizes() {
        let text: String = (0..3000_u64).map(|request| format!("{}\n", request * request % 101)).collect();
        let opens = || Ok(crate::advise::basis::tests_trace(&text));
        let basis = AdviceBasis { by_size: false, unit_bytes: 10, rate: 1.0, is_lru_sampled: false, seed: 1 };
        let (lru, _) = lru_curve(&opens, &basis).unwrap();
        let sizes = steps(&lru.points);
        let sample = PolicySample::read(&mut *opens().unwrap(), &basis, 1.0).unwrap();
        let drawn = curves(&sample, &basis, &["lru".to_owned(), "arc".to_owned()], &sizes, lru.footprint).unwrap();
        let capacities = |curve: &PolicyCurve| curve.points.iter().map(|point| point.capacity).collect::<Vec<_>>();
        assert_eq!(capacities(&drawn[0]), capacities(&drawn[1]));
        let last = drawn[1].points.last().unwrap();
        assert_eq!((last.capacity, last.bytes, last.share), (51, 510, 1.0));
        assert!((last.miss_ratio - 51.0 / 3000.0).abs() < 1e-12);
    }

    #[test]
    fn a_trace_of_deletes_is_refused() {
        let opens = || Ok(crate::advise::basis::tests_trace("time,key,size,op\n0,a,10,delete\n"));
        let basis = AdviceBasis { by_size: true, unit_bytes: 1, rate: 1.0, is_lru_sampled: false, seed: 1 };
        assert!(lru_curve(&opens, &basis).is_err());
    }
}
