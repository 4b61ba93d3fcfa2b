//! Memory and policy: what a trace says about caches, without tiers and prices.

use manometer_trace::character::Report;

use super::OpenTrace;
use super::basis::AdviceBasis;
use super::curves::{MissPoint, PolicyCurve, curves, lru_at, lru_curve, steps};
use super::memory::{MemoryAdvice, half_and_twice};
use super::memory_choice::{MemoryChoice, MemoryReason};
use super::policy_verdict::PolicyVerdict;
use super::rank::{PolicyRanking, PolicySample};
use crate::CacheError;
use crate::curve::CurvePoint;
use crate::policy_spec::PolicySpec;
use crate::trace_scan::BYTES_MAX;

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
        check_bytes(lru.footprint, &basis)?;
        let rate = basis.ranking_rate(report.requests);
        let sample = PolicySample::read(&mut *opens()?, &basis, rate)?;
        let known = lru.points.partition_point(|point| (point.capacity as f64) < sample.smallest());
        let curve = PolicyCurve::new("lru".to_owned(), &lru.points[known..], &basis, lru.footprint);
        let choice = MemoryChoice::of(&curve, |point| lru_misses(&sample, &basis, point))
            .ok_or_else(|| CacheError::Invalid("no cache is large enough for an estimate".to_owned()))?;
        let ranking = sample.rank(&choice.recommended.curve_point())?;
        let policy = match choice.reason {
            MemoryReason::NoHits => PolicyVerdict::without_hits(),
            _ => PolicyVerdict::of(&ranking, choice.recommended.capacity == choice.all.capacity),
        };
        let spec: PolicySpec = policy.policy.parse()?;
        let points: Vec<MissPoint> = around(opens, &basis, &sample, &spec, choice.recommended.capacity)?
            .iter()
            .map(|point| MissPoint::new(point, &basis, lru.footprint))
            .collect();
        let sizes = curve_sizes(opens, &basis, &lru.points[known..], choice.recommended.curve_point())?;
        let memory = MemoryAdvice::new(choice, &policy.policy, &ranking, &points);
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

/// Refuses objects whose sizes have no sum.
fn check_bytes(footprint: f64, basis: &AdviceBasis) -> Result<(), CacheError> {
    if footprint * basis.unit_bytes as f64 <= BYTES_MAX as f64 {
        return Ok(());
    }
    Err(CacheError::Invalid(format!(
        "{footprint:.0} objects of {} bytes are too large together: up to {BYTES_MAX} bytes (2 EiB) can be advised on",
        basis.unit_bytes
    )))
}

/// LRU's miss ratio. A cache bypasses objects that do not fit, which LRU's curve by size does not.
fn lru_misses(sample: &PolicySample, basis: &AdviceBasis, point: &MissPoint) -> f64 {
    let simulated = || sample.simulated(&PolicySpec::lru(), &[point.capacity]).pop();
    let is_exact = basis.by_size && sample.is_whole();
    is_exact.then(simulated).flatten().map_or(point.miss_ratio, |found| found.miss_ratio)
}

/// The misses of a policy with half and twice a capacity, as exact as the sample is.
fn around(
    opens: OpenTrace<'_>,
    basis: &AdviceBasis,
    sample: &PolicySample,
    policy: &PolicySpec,
    capacity: u64,
) -> Result<Vec<CurvePoint>, CacheError> {
    let sizes: Vec<u64> = half_and_twice(capacity).into_iter().filter(|size| *size > 0).collect();
    if sample.is_whole() {
        return Ok(sample.simulated(policy, &sizes));
    }
    let lru = lru_at(opens, basis, &sizes)?.0.points;
    Ok(match *policy == PolicySpec::lru() {
        true => lru,
        false => sample.curves(std::slice::from_ref(policy), &lru).pop().unwrap_or_default(),
    })
}

/// LRU's curve at the sizes at which curves are drawn: in steps, at the recommended size, and at half and twice that where it
/// reaches so far.
fn curve_sizes(
    opens: OpenTrace<'_>,
    basis: &AdviceBasis,
    points: &[CurvePoint],
    recommended: CurvePoint,
) -> Result<Vec<CurvePoint>, CacheError> {
    let mut sizes = steps(points);
    sizes.push(recommended);
    let is_drawn = |capacity: &u64| {
        let capacities = points.first().zip(points.last()).map(|(first, last)| first.capacity..=last.capacity);
        capacities.is_some_and(|capacities| capacities.contains(capacity))
    };
    let named: Vec<u64> = half_and_twice(recommended.capacity).into_iter().filter(is_drawn).collect();
    if !named.is_empty() {
        sizes.extend(lru_at(opens, basis, &named)?.0.points);
    }
    sizes.sort_by_key(|point| point.capacity);
    sizes.dedup_by_key(|point| point.capacity);
    Ok(sizes)
}

/// Shows the figures that sentences have, where the curve has others from a smaller sample.
fn show_simulated(curve: &mut PolicyCurve, ranking: &PolicyRanking, memory: &MemoryAdvice) {
    let own = [memory.half, Some(memory.recommended), memory.twice].into_iter().flatten();
    let own = own.filter(|point| curve.policy == memory.policy && point.capacity <= memory.all.capacity);
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
