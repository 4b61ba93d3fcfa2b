//! Miss-ratio curves: the misses of a policy over all sizes of its cache.

mod bounds;
mod exact;
mod groups;
mod knee;
mod known;
mod lru;
mod simulated;

use manometer_trace::{Record, TraceError, TraceReader};

use crate::error::CacheError;
use crate::policy::Choice;
use crate::requests::Details;
use bounds::Bounds;

pub use knee::knees;

/// How much of a trace a curve is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampling {
    /// All of it.
    Whole,
    /// About this share of its keys, with all their requests.
    Rate(f64),
    /// At most so many of its keys, with all their requests. For LRU in memory that does not grow with the trace; other
    /// policies are simulated on these requests, which are held.
    Keys(usize),
}

/// What a curve is to show.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Whether capacities are in bytes, and objects have their sizes.
    pub by_size: bool,
    /// At which capacities; at steps of a thirty-second where none are given.
    pub capacities: Vec<u64>,
    /// How much of the trace it is made of.
    pub sampling: Sampling,
    /// Which keys are in the sample, and what chance decides in the policy.
    pub seed: u64,
}

/// A size of the cache, and its misses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Objects, or bytes.
    pub capacity: u64,
    /// Misses for each request.
    pub miss_ratio: f64,
    /// Half of the 95 % interval around it; none where nothing is estimated.
    pub error: Option<f64>,
}

/// The misses of one policy over all sizes.
#[derive(Debug)]
pub struct Curve {
    /// By capacity.
    pub points: Vec<Point>,
    /// The requests it stands for.
    pub requests: u64,
    /// Requests that were left out: deletes, and those without a size where sizes count.
    pub left_out: u64,
    /// What all keys of the trace take: objects, or bytes; an estimate where it is made of a sample.
    pub footprint: f64,
    /// The share of the keys that it was made of at the end.
    pub rate: f64,
    /// Below which capacity so small a sample tells nothing: these have no points.
    pub smallest: f64,
    /// Why the trace was not read to its end.
    pub damage: Option<TraceError>,
}

/// The curve of `policy` on the trace that `reader` gives.
///
/// LRU's is one walk over the trace, all other policies are simulated at each capacity.
///
/// # Errors
/// The rate is no share, or the trace holds more than fits in memory.
pub fn curve(reader: &mut dyn TraceReader, policy: &Choice, wanted: &Wanted) -> Result<Curve, CacheError> {
    let bounds = Bounds::new(&wanted.capacities);
    match (policy.kind().name, wanted.sampling) {
        ("lru", Sampling::Whole) => exact::curve(reader, &bounds, wanted.by_size),
        ("lru", _) => lru::curve(reader, &bounds, wanted),
        _ => simulated::curve(reader, policy, &bounds, wanted),
    }
}

/// What is looked at in requests.
fn details(by_size: bool) -> Details {
    Details { sizes: by_size, ..Details::NONE }
}

/// The bytes of its object, or 1.
fn size_of(record: &Record, by_size: bool) -> u64 {
    if by_size { record.value_size.unwrap_or(0) } else { 1 }
}
