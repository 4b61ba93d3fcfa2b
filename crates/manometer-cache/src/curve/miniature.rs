//! The curve of any policy by simulation of each capacity: on all keys, or as a miniature simulation on a sample of
//! keys with a proportionally smaller capacity (Waldspurger and others, USENIX ATC 2017).
//!
//! LRU's misses are known from a pass over all requests, and so is the sample's error for LRU. Another policy is taken to
//! have the same error, and is corrected by it; how far it does not shows in the spread over groups of keys.

use rayon::prelude::*;

use super::capacities::CapacityGrid;
use super::interval::{KEY_GROUPS, NORMAL, interval_half_width};
use super::{CurvePoint, MissRatioCurve};
use crate::policy_spec::PolicySpec;
use crate::requests::RequestSequence;

/// The fewest objects of a miniature cache: queues of a tenth of it still hold several.
pub(crate) const OBJECTS_MIN: f64 = 64.0;
/// The requests for a sample of the keys.
pub(crate) struct MiniatureSimulation<'a> {
    pub(crate) requests: &'a RequestSequence,
    pub(crate) by_size: bool,
    /// The seed of randomised policies.
    pub(crate) seed: u64,
    /// The share of sampled keys.
    pub(crate) rate: f64,
    /// The number of requests for all keys.
    pub(crate) all: u64,
}

/// LRU's misses at a capacity, in all requests and in the sample.
struct LruReference {
    lru: CurvePoint,
    /// At the capacity itself, and at both ends of the range that it may stand for.
    plain: GroupMisses,
    ends: [(u64, f64); 2],
}

/// The misses of each group of keys.
pub(crate) type GroupMisses = [u64; KEY_GROUPS];

impl MiniatureSimulation<'_> {
    /// The curve of each policy; that of a sample is corrected by LRU's.
    pub(super) fn curves(
        &self,
        policies: &[PolicySpec],
        grid: &CapacityGrid,
        lru: Option<&[CurvePoint]>,
    ) -> Vec<MissRatioCurve> {
        let footprint = footprint(self.requests) / self.rate;
        let smallest = self.smallest();
        let is_large_enough = |capacity: &u64| *capacity as f64 >= smallest;
        let capacities: Vec<u64> = match self.all {
            0 => Vec::new(),
            _ => grid.coarse(footprint).filter(is_large_enough).collect(),
        };
        let points = match lru {
            Some(lru) => {
                let known = |capacity: &u64| lru.iter().find(|point| point.capacity == *capacity).copied();
                self.corrected(policies, &capacities.iter().map_while(known).collect::<Vec<CurvePoint>>())
            }
            None => self.whole(policies, &capacities),
        };
        points
            .into_iter()
            .map(|points| MissRatioCurve { points, footprint, all: None, rate: self.rate, smallest })
            .collect()
    }

    /// The smallest capacity that can be simulated.
    pub(crate) fn smallest(&self) -> f64 {
        if self.rate < 1.0 { OBJECTS_MIN * self.object() / self.rate } else { 0.0 }
    }

    /// How far, as a share, the capacity that a miniature cache of so many objects stands for may be off (95 %): a sample
    /// contains more or fewer of the most popular keys than its rate suggests.
    pub(crate) fn capacity_error(&self, objects: f64) -> f64 {
        NORMAL * ((1.0 - self.rate) / objects).sqrt()
    }

    /// The mean size of an object.
    pub(crate) fn object(&self) -> f64 {
        footprint(self.requests) / (self.requests.keys() as f64).max(1.0)
    }

    /// The curves on all keys, policy by policy.
    pub(crate) fn whole(&self, policies: &[PolicySpec], capacities: &[u64]) -> Vec<Vec<CurvePoint>> {
        let point = |policy: &PolicySpec, capacity: &u64| {
            let mut cache = policy.create(*capacity, self.requests, self.by_size, self.seed);
            let miss_ratio = cache.run(self.requests).miss_ratio().unwrap_or(0.0);
            CurvePoint { capacity: *capacity, miss_ratio, error: None }
        };
        each(policies, capacities, point)
    }

    /// The curves on a sample, corrected by the error of LRU's misses in it.
    pub(crate) fn corrected(&self, policies: &[PolicySpec], lru: &[CurvePoint]) -> Vec<Vec<CurvePoint>> {
        let plain = PolicySpec::lru();
        let object = self.object();
        let known: Vec<LruReference> = lru.par_iter().map(|lru| self.lru_reference(&plain, lru, object)).collect();
        each(policies, &known, |policy, known| self.scaled_point(policy, known))
    }

    fn lru_reference(&self, plain: &PolicySpec, lru: &CurvePoint, object: f64) -> LruReference {
        let off = self.capacity_error(lru.capacity as f64 / object * self.rate);
        let end = |sign: f64| {
            let capacity = (lru.capacity as f64 * (1.0 + sign * off)) as u64;
            (capacity, self.share(&self.misses(plain, capacity)))
        };
        LruReference { lru: *lru, plain: self.misses(plain, lru.capacity), ends: [end(-1.0), end(1.0)] }
    }

    /// LRU's misses plus the difference between the policy's and LRU's misses in the sample.
    fn scaled_point(&self, policy: &PolicySpec, known: &LruReference) -> CurvePoint {
        let own = self.misses(policy, known.lru.capacity);
        let expected = self.all as f64 * self.rate;
        let apart: [f64; KEY_GROUPS] =
            std::array::from_fn(|group| (own[group] as f64 - known.plain[group] as f64) / expected);
        let sum: f64 = apart.iter().sum();
        let off = apart.map(|apart| apart - sum / KEY_GROUPS as f64);
        let moved = known.ends.iter().map(|(capacity, plain)| {
            let apart = self.share(&self.misses(policy, *capacity)) - plain;
            (apart - sum).abs()
        });
        let moved = moved.fold(0.0, f64::max);
        let error = interval_half_width(&off, self.rate).hypot(known.lru.error.unwrap_or(0.0)).hypot(moved);
        CurvePoint { miss_ratio: (known.lru.miss_ratio + sum).clamp(0.0, 1.0), error: Some(error), ..known.lru }
    }

    /// Misses in the sample divided by the expected number of its requests.
    fn share(&self, misses: &GroupMisses) -> f64 {
        misses.iter().sum::<u64>() as f64 / (self.all as f64 * self.rate)
    }

    /// The misses of a policy in a miniature cache that stands for `capacity`.
    pub(crate) fn misses(&self, policy: &PolicySpec, capacity: u64) -> GroupMisses {
        let small = ((capacity as f64 * self.rate).round() as u64).max(1);
        let mut groups = [0; KEY_GROUPS];
        let mut cache = policy.create(small, self.requests, self.by_size, self.seed);
        cache.run_with(self.requests, &mut |request, is_hit| {
            groups[request.id as usize % KEY_GROUPS] += u64::from(!is_hit);
        });
        groups
    }
}

/// Computes the points of every policy in parallel.
fn each<T: Sync>(
    policies: &[PolicySpec],
    items: &[T],
    point: impl Fn(&PolicySpec, &T) -> CurvePoint + Sync,
) -> Vec<Vec<CurvePoint>> {
    let of = |policy: &PolicySpec| items.par_iter().map(|item| point(policy, item)).collect();
    policies.par_iter().map(of).collect()
}

/// The size of all keys, each with its last size.
fn footprint(requests: &RequestSequence) -> f64 {
    if requests.sizes().is_empty() {
        return requests.keys() as f64;
    }
    let mut sizes = vec![0.0; requests.keys()];
    // An empty object weighs one byte, as in a cache.
    requests.ids().iter().zip(requests.sizes()).for_each(|(id, size)| sizes[*id as usize] = (*size).max(1) as f64);
    sizes.iter().sum()
}
