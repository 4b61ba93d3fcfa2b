//! Any policy's curve: each capacity simulated, over all keys or in miniature over a sample of them with as much less
//! capacity (Waldspurger and others, USENIX ATC 2017).
//!
//! Which keys are in the sample moves the misses of all policies alike. LRU's are known better, from a walk over all
//! requests, and so is by how much the sample is off for LRU: the miniature of another policy is corrected by as much.

use rayon::prelude::*;

use super::bounds::Bounds;
use super::groups::{GROUPS, half_interval};
use super::{Curve, Point, Wanted};
use crate::policy::Choice;
use crate::requests::Requests;

/// The fewest objects that a cache in miniature stands for others with: queues of a tenth of it still hold several.
const OBJECTS_MIN: f64 = 64.0;

/// Requests for a sample of the keys, and what they stand for.
pub(super) struct Miniature<'a> {
    pub(super) requests: &'a Requests,
    pub(super) wanted: &'a Wanted,
    /// The share of the keys that is in it.
    pub(super) rate: f64,
    /// How many requests there are of all keys.
    pub(super) all: u64,
}

impl Miniature<'_> {
    /// The curve of each policy; where it is of a sample, corrected by LRU's.
    pub(super) fn curves(&self, policies: &[&Choice], bounds: &Bounds, lru: Option<&Curve>) -> Vec<Curve> {
        let footprint = footprint(self.requests) / self.rate;
        let object = footprint / (self.requests.keys() as f64 / self.rate).max(1.0);
        let smallest = if self.rate < 1.0 { OBJECTS_MIN * object / self.rate } else { 0.0 };
        let is_large_enough = |capacity: &u64| *capacity as f64 >= smallest;
        let capacities: Vec<u64> = match self.all {
            0 => Vec::new(),
            _ => bounds.some(footprint).filter(is_large_enough).collect(),
        };
        let points = match lru {
            Some(lru) => self.corrected(policies, &capacities, lru),
            None => self.whole(policies, &capacities),
        };
        points.into_iter().map(|points| Curve { points, footprint, rate: self.rate, smallest }).collect()
    }

    /// Of all keys, policy by policy.
    fn whole(&self, policies: &[&Choice], capacities: &[u64]) -> Vec<Vec<Point>> {
        let point = |policy: &Choice, capacity: &u64| {
            let mut cache = policy.make(*capacity, self.requests, self.wanted.by_size, self.wanted.seed);
            let miss_ratio = cache.run(self.requests).miss_ratio().unwrap_or(0.0);
            Point { capacity: *capacity, miss_ratio, error: None }
        };
        each(policies, capacities, point)
    }

    /// Of a sample, beside what LRU misses in all of it and in the sample.
    fn corrected(&self, policies: &[&Choice], capacities: &[u64], lru: &Curve) -> Vec<Vec<Point>> {
        let known = |capacity: &u64| lru.points.iter().find(|point| point.capacity == *capacity).copied();
        let known: Vec<Point> = capacities.iter().map_while(known).collect();
        let plain_lru = Choice::lru();
        let lru = |point: Point| (point, self.misses(&plain_lru, point.capacity));
        let known: Vec<(Point, [f64; GROUPS])> = known.into_par_iter().map(lru).collect();
        let point = |policy: &Choice, (lru, plain): &(Point, [f64; GROUPS])| {
            let own = self.misses(policy, lru.capacity);
            let apart: [f64; GROUPS] = std::array::from_fn(|group| own[group] - plain[group]);
            let sum: f64 = apart.iter().sum();
            let off = apart.map(|apart| apart - sum / GROUPS as f64);
            let error = half_interval(&off, self.rate).hypot(lru.error.unwrap_or(0.0));
            Point { miss_ratio: (lru.miss_ratio + sum).clamp(0.0, 1.0), error: Some(error), ..*lru }
        };
        each(policies, &known, point)
    }

    /// Misses of each group of keys as shares of all requests.
    fn misses(&self, policy: &Choice, capacity: u64) -> [f64; GROUPS] {
        let small = ((capacity as f64 * self.rate).round() as u64).max(1);
        let expected = self.all as f64 * self.rate;
        let mut groups = [0.0; GROUPS];
        let mut cache = policy.make(small, self.requests, self.wanted.by_size, self.wanted.seed);
        cache.run_with(self.requests, &mut |request, is_hit| {
            groups[request.id as usize % GROUPS] += f64::from(!is_hit) / expected;
        });
        groups
    }
}

/// The points of every policy, over all cores.
fn each<T: Sync>(policies: &[&Choice], items: &[T], point: impl Fn(&Choice, &T) -> Point + Sync) -> Vec<Vec<Point>> {
    let of = |policy: &&Choice| items.par_iter().map(|item| point(policy, item)).collect();
    policies.par_iter().map(of).collect()
}

/// What all keys take that are there, each with the size it had last.
fn footprint(requests: &Requests) -> f64 {
    if requests.sizes().is_empty() {
        return requests.keys() as f64;
    }
    let mut sizes = vec![0.0; requests.keys()];
    // An empty object weighs a byte, as it does in a cache.
    requests.ids().iter().zip(requests.sizes()).for_each(|(id, size)| sizes[*id as usize] = (*size).max(1) as f64);
    sizes.iter().sum()
}
