//! Any policy's curve: each capacity simulated, over all keys or in miniature over a sample of them with as much less
//! capacity (Waldspurger and others, USENIX ATC 2017).

use manometer_trace::TraceReader;
use rayon::prelude::*;

use super::bounds::Bounds;
use super::groups::{GROUPS, half_interval};
use super::{Curve, Point, Wanted};
use crate::error::CacheError;
use crate::policy::Choice;
use crate::requests::{Details, Requests};
use crate::sampled::Sampled;

/// Every so many of the capacities that are taken unasked one is simulated.
const STRIDE: usize = 8;
/// The fewest objects that a cache in miniature stands for others with.
const OBJECTS_MIN: f64 = 8.0;

pub(super) fn curve(
    reader: &mut dyn TraceReader,
    policy: &Choice,
    bounds: &Bounds,
    wanted: &Wanted,
) -> Result<Curve, CacheError> {
    let details = Details { sizes: wanted.by_size, ..policy.kind().details };
    let Sampled { mut requests, rate, all } = Sampled::read(reader, details, wanted.sampling, wanted.seed)?;
    let footprint = footprint(&requests) / rate;
    let object = footprint / (requests.keys() as f64 / rate).max(1.0);
    let is_large_enough = |capacity: &u64| rate == 1.0 || *capacity as f64 * rate >= OBJECTS_MIN * object;
    let capacities: Vec<u64> = bounds.some(footprint, STRIDE).filter(is_large_enough).collect();
    let point = |capacity: u64| point(&requests, policy, capacity, rate, all, wanted);
    let points = capacities.into_par_iter().map(point).collect();
    Ok(Curve {
        points,
        requests: all,
        left_out: requests.left_out().sum(),
        footprint,
        rate,
        damage: requests.take_damage(),
    })
}

fn point(requests: &Requests, policy: &Choice, capacity: u64, rate: f64, all: u64, wanted: &Wanted) -> Point {
    let small = ((capacity as f64 * rate).round() as u64).max(1);
    let mut groups = [0.0; GROUPS];
    policy.make(small, requests, wanted.by_size, wanted.seed).run_with(requests, &mut |request, is_hit| {
        groups[request.id as usize % GROUPS] += f64::from(!is_hit);
    });
    let misses: f64 = groups.iter().sum();
    let expected = all as f64 * rate;
    let off = groups.map(|misses_of| misses_of - misses / GROUPS as f64);
    let error = (rate < 1.0).then(|| half_interval(&off, rate) / expected);
    Point { capacity, miss_ratio: (misses / expected).min(1.0), error }
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
