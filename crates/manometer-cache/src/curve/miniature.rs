//! The curve of any policy by simulation of each capacity: on all keys, or as a miniature simulation on a sample of
//! keys with a proportionally smaller capacity (Waldspurger and others, USENIX ATC 2017).
//!
//! LRU's misses are known from a pass over all requests, and so is the sample's error for LRU. Another policy is taken to
//! have the same error, and is corrected by it. How far it does not shows in smaller samples: the sample is divided by key
//! into parts, each of which is simulated in a cache as much smaller.

use rapidhash::v3::rapidhash_v3;
use rayon::prelude::*;

use super::capacities::CapacityGrid;
use super::interval::NORMAL;
use super::{CurvePoint, MissRatioCurve};
use crate::key_id::KeyId;
use crate::policy_spec::PolicySpec;
use crate::requests::RequestSequence;

/// The fewest objects of a miniature cache: queues of a tenth of a part's still hold several.
pub(crate) const OBJECTS_MIN: f64 = 256.0;
/// The number of parts that a sample is divided into.
const PARTS: usize = 8;
/// The 97.5 % quantile of Student's t for one degree of freedom less than there are parts.
const STUDENT: f64 = 2.365;

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

/// LRU's misses at a capacity, in all requests, in the sample, and in each of its parts, as shares of the requests.
struct LruReference {
    lru: CurvePoint,
    plain: f64,
    plain_parts: Vec<f64>,
    /// At both ends of the range of capacities that the miniature cache may stand for.
    ends: [(u64, f64); 2],
}

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
        let divided = self.divided();
        let rate = self.rate / PARTS as f64;
        let parts: Vec<MiniatureSimulation<'_>> =
            divided.iter().map(|requests| MiniatureSimulation { requests, rate, ..*self }).collect();
        let reference = |lru: &CurvePoint| {
            let off = self.capacity_error(lru.capacity as f64 / object * self.rate);
            let ends = [1.0 - off, 1.0 + off].map(|factor| (lru.capacity as f64 * factor) as u64);
            LruReference {
                lru: *lru,
                plain: self.share(&plain, lru.capacity),
                plain_parts: parts.iter().map(|part| part.share(&plain, lru.capacity)).collect(),
                ends: ends.map(|capacity| (capacity, self.share(&plain, capacity))),
            }
        };
        let known: Vec<LruReference> = lru.par_iter().map(reference).collect();
        each(policies, &known, |policy, known| self.scaled_point(policy, known, &parts))
    }

    /// The requests of each part of the keys.
    fn divided(&self) -> Vec<RequestSequence> {
        let part_of = |id: KeyId| rapidhash_v3(&id.to_le_bytes()) as usize % PARTS;
        (0..PARTS).map(|part| self.requests.of_keys(|id| part_of(id) == part)).collect()
    }

    /// LRU's misses plus the difference between the policy's and LRU's misses in the sample.
    fn scaled_point(&self, policy: &PolicySpec, known: &LruReference, parts: &[MiniatureSimulation<'_>]) -> CurvePoint {
        let capacity = known.lru.capacity;
        let apart = self.share(policy, capacity) - known.plain;
        let part = |(part, plain): (&MiniatureSimulation<'_>, &f64)| part.share(policy, capacity) - plain;
        let of_parts: Vec<f64> = parts.iter().zip(&known.plain_parts).map(part).collect();
        let moved = known.ends.iter().map(|(capacity, plain)| (self.share(policy, *capacity) - plain - apart).abs());
        let moved = moved.fold(0.0, f64::max);
        let error = self.parts_error(apart, &of_parts).hypot(known.lru.error.unwrap_or(0.0)).hypot(moved);
        CurvePoint { miss_ratio: (known.lru.miss_ratio + apart).clamp(0.0, 1.0), error: Some(error), ..known.lru }
    }

    /// Half the width of the 95 % confidence interval of a figure of the sample, given that of each part. It has two parts:
    /// which keys are sampled, by the differences between the parts, and how small the cache is. The relative error of
    /// depths falls with the square root of the size, and what follows from it falls at least as fast.
    fn parts_error(&self, whole: f64, parts: &[f64]) -> f64 {
        let count = parts.len() as f64;
        let mean = parts.iter().sum::<f64>() / count;
        let squares: f64 = parts.iter().map(|part| (part - mean) * (part - mean)).sum();
        let keys = STUDENT * (squares / (count * (count - 1.0)) * (1.0 - self.rate)).sqrt();
        keys.hypot((mean - whole) / (count.sqrt() - 1.0))
    }

    /// The misses of a policy in a miniature cache that stands for `capacity`, divided by the expected number of requests.
    fn share(&self, policy: &PolicySpec, capacity: u64) -> f64 {
        let small = ((capacity as f64 * self.rate).round() as u64).max(1);
        let misses = policy.create(small, self.requests, self.by_size, self.seed).run(self.requests).misses;
        misses as f64 / (self.all as f64 * self.rate)
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
