//! Any policy's curve: each capacity simulated, over all keys or in miniature over a sample of them with as much less
//! capacity (Waldspurger and others, USENIX ATC 2017).
//!
//! Which keys are in the sample moves the misses of all policies alike. LRU's are known better, from a walk over all
//! requests, and so is by how much the sample is off for LRU: the miniature of another policy is corrected by as much.

use manometer_trace::{Record, TraceReader};
use rayon::prelude::*;

use super::bounds::Bounds;
use super::groups::{GROUPS, half_interval};
use super::{Curve, Point, Sampling, Wanted, lru};
use crate::error::CacheError;
use crate::policy::Choice;
use crate::requests::{Details, Requests};
use crate::sampled::Sampled;

/// Every so many of the capacities that are taken unasked one is simulated.
const STRIDE: usize = 8;
/// The fewest objects that a cache in miniature stands for others with: queues of a tenth of it still hold several.
const OBJECTS_MIN: f64 = 64.0;

pub(super) fn curve(
    reader: &mut dyn TraceReader,
    policy: &Choice,
    bounds: &Bounds,
    wanted: &Wanted,
) -> Result<Curve, CacheError> {
    let details = Details { sizes: wanted.by_size, ..policy.kind().details };
    let mut walk = lru::walk(bounds, wanted)?;
    let mut see = |record: &Record| match wanted.sampling {
        Sampling::Whole => {}
        _ => walk.request(record),
    };
    let Sampled { mut requests, rate, all } = Sampled::read(reader, details, wanted.sampling, wanted.seed, &mut see)?;
    let footprint = footprint(&requests) / rate;
    let object = footprint / (requests.keys() as f64 / rate).max(1.0);
    let smallest = if rate < 1.0 { OBJECTS_MIN * object / rate } else { 0.0 };
    let is_large_enough = |capacity: &u64| *capacity as f64 >= smallest;
    let capacities: Vec<u64> = bounds.some(footprint, STRIDE).filter(is_large_enough).collect();
    let mini = Miniature { requests: &requests, policy, rate, all, wanted };
    let points = match rate < 1.0 {
        true => {
            let known = walk.points().0;
            let known = |capacity: u64| known.iter().find(|point| point.capacity == capacity).copied();
            let known: Vec<Point> = capacities.iter().map_while(|capacity| known(*capacity)).collect();
            known.into_par_iter().map(|lru| mini.corrected(&lru)).collect()
        }
        false => capacities.into_par_iter().map(|capacity| mini.whole(capacity)).collect(),
    };
    let (left_out, damage) = (requests.left_out().sum(), requests.take_damage());
    Ok(Curve {
        points: if all == 0 { Vec::new() } else { points },
        requests: all,
        left_out,
        footprint,
        rate,
        smallest,
        damage,
    })
}

/// Simulations in the size of a sample.
struct Miniature<'a> {
    requests: &'a Requests,
    policy: &'a Choice,
    rate: f64,
    all: u64,
    wanted: &'a Wanted,
}

impl Miniature<'_> {
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

    /// Of all keys.
    fn whole(&self, capacity: u64) -> Point {
        let misses =
            self.policy.make(capacity, self.requests, self.wanted.by_size, self.wanted.seed).run(self.requests);
        Point { capacity, miss_ratio: misses.miss_ratio().unwrap_or(0.0), error: None }
    }

    /// Of a sample, beside what LRU misses in all of it and in the sample.
    fn corrected(&self, lru: &Point) -> Point {
        let (own, plain) = (self.misses(self.policy, lru.capacity), self.misses(&Choice::lru(), lru.capacity));
        let apart: [f64; GROUPS] = std::array::from_fn(|group| own[group] - plain[group]);
        let sum: f64 = apart.iter().sum();
        let off = apart.map(|apart| apart - sum / GROUPS as f64);
        let error = half_interval(&off, self.rate).hypot(lru.error.unwrap_or(0.0));
        Point { miss_ratio: (lru.miss_ratio + sum).clamp(0.0, 1.0), error: Some(error), ..*lru }
    }
}

/// What all keys take that are there, each with the size it had last.
fn footprint(requests: &Requests) -> f64 {
    if requests.sizes().is_empty() {
        return requests.keys() as f64;
    }
    let mut sizes = vec![0; requests.keys()];
    requests.ids().iter().zip(requests.sizes()).for_each(|(id, size)| sizes[*id as usize] = *size);
    sizes.iter().sum::<u64>() as f64
}
