//! Memory and policy: what a trace says about caches, without tiers and prices.

use manometer_trace::character::Report;

use super::OpenTrace;
use super::basis::AdviceBasis;
use super::curves::{MissPoint, PolicyCurve, curves, lru_curve, steps};
use super::memory::{MemoryAdvice, memory};
use super::policy_verdict::PolicyVerdict;
use super::rank::{PolicyRanking, PolicySample};
use crate::CacheError;
use crate::curve::CurvePoint;
use crate::policy_spec::PolicySpec;

/// The recommended memory and policy, with their grounds.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheAnalysis {
    /// The part of the trace that was analysed.
    pub basis: AdviceBasis,
    /// Requests that no cache serves.
    pub left_out: u64,
    /// The size of all objects, in objects or bytes.
    pub footprint: f64,
    /// All policies at the recommended size.
    pub ranking: PolicyRanking,
    /// The recommended policy.
    pub policy: PolicyVerdict,
    /// The recommended amount of memory.
    pub memory: MemoryAdvice,
    /// LRU's curve at the sizes of other curves.
    lru: Vec<CurvePoint>,
}

impl CacheAnalysis {
    /// Chooses the amount of memory by LRU's curve, and then the policy at that size. Objects without a size have
    /// `object_bytes`.
    ///
    /// # Errors
    /// The trace cannot be opened, has no requests, or is too large.
    pub fn of(opens: OpenTrace<'_>, report: &Report, object_bytes: u64) -> Result<Self, CacheError> {
        let basis = AdviceBasis::new(report, object_bytes)?;
        let (lru, left_out) = lru_curve(opens, &basis)?;
        let rate = basis.ranking_rate(report.requests);
        let sample = PolicySample::read(&mut *opens()?, &basis, rate)?;
        let smallest = sample.smallest();
        let sizes: Vec<CurvePoint> =
            steps(&lru.points).into_iter().filter(|point| point.capacity as f64 >= smallest).collect();
        let by_lru = memory(&PolicyCurve::new("lru".to_owned(), &sizes, &basis, lru.footprint))
            .ok_or_else(|| CacheError::Invalid("no cache is large enough for an estimate".to_owned()))?;
        let ranking = sample.rank(&by_lru.recommended.curve_point())?;
        let policy = PolicyVerdict::of(&ranking, by_lru.recommended.capacity == by_lru.all.capacity);
        let spec: PolicySpec = policy.policy.parse()?;
        let memory = by_lru.with_policy(&policy.policy, &ranking, |lru| sample.point(&spec, &lru.curve_point()));
        Ok(Self { basis, left_out: left_out.sum(), footprint: lru.footprint, ranking, policy, memory, lru: sizes })
    }

    /// The curves of the policies that the ranking shows, with fewer keys where there are many. At the recommended size
    /// they have the ranking's figures.
    ///
    /// # Errors
    /// The trace cannot be opened.
    pub fn curves(&self, opens: OpenTrace<'_>) -> Result<Vec<PolicyCurve>, CacheError> {
        let sample = PolicySample::read(&mut *opens()?, &self.basis, self.basis.rate)?;
        let shown: Vec<String> = self.ranking.shown(&self.policy.policy).map(|ranked| ranked.policy.clone()).collect();
        let mut curves = curves(&sample, &self.basis, &shown, &self.lru, self.footprint)?;
        curves.iter_mut().for_each(|curve| show_simulated(curve, &self.ranking, &self.memory));
        Ok(curves)
    }
}

/// Shows the figures that sentences have, where the curve has others from a smaller sample.
fn show_simulated(curve: &mut PolicyCurve, ranking: &PolicyRanking, memory: &MemoryAdvice) {
    let own = [memory.half, Some(memory.recommended), Some(memory.twice)];
    let own = own.into_iter().flatten().filter(|_| curve.policy == memory.policy);
    let ranked = ranking.of(&curve.policy).map(|ranked| memory.recommended.ranked(ranked, ranking));
    for found in own.chain(ranked) {
        match curve.points.iter_mut().find(|point| point.capacity == found.capacity) {
            Some(point) => *point = found,
            None => insert(&mut curve.points, found),
        }
    }
}

fn insert(points: &mut Vec<MissPoint>, point: MissPoint) {
    let place = points.partition_point(|other| other.capacity < point.capacity);
    points.insert(place, point);
}
