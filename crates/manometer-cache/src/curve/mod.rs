//! Miss-ratio curves: the misses of a policy over all sizes of its cache.

mod bounds;
mod exact;
pub(crate) mod groups;
mod knee;
mod known;
mod lru;
mod parquet;
pub(crate) mod simulated;
mod working_set;

use manometer_trace::{Record, TraceError, TraceReader};

use crate::error::CacheError;
use crate::policy::Choice;
use crate::requests::{Details, LeftOut, read};
use crate::sampled::Sampled;
use bounds::Bounds;
use simulated::Miniature;
use working_set::Counter;

pub use knee::knees;
pub use parquet::write_parquet;
pub use working_set::{Amount, Window, Windows, WorkingSet};

/// How many keys are simulated, unless said.
pub const KEYS_SIMULATED: usize = 1 << 16;

/// How much of a trace a curve is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampling {
    /// All of it.
    Whole,
    /// About this share of its keys, with all their requests.
    Rate(f64),
    /// At most so many of its keys, with all their requests, in memory that does not grow with the trace. Policies
    /// other than LRU are simulated on these requests, which are held: fewer keys where there would be too many.
    Keys(usize),
}

/// What a curve is to show.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Whether capacities are in bytes, and objects have their sizes.
    pub by_size: bool,
    /// At which capacities; at steps of a thirty-second where none are given.
    pub capacities: Vec<u64>,
    /// How much of the trace it is made of; where that is not said, all of it for LRU, and [`KEYS_SIMULATED`] for
    /// what has to be simulated.
    pub sampling: Option<Sampling>,
    /// Over which windows the working set is told, where it is; of all of the trace unless `sampling` says otherwise.
    pub windows: Option<Windows>,
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
#[derive(Debug, Clone)]
pub struct Curve {
    /// By capacity.
    pub points: Vec<Point>,
    /// What all keys of the trace take: objects, or bytes; an estimate where it is made of a sample.
    pub footprint: f64,
    /// The share of the keys that it was made of at the end.
    pub rate: f64,
    /// Below which capacity so small a sample tells nothing: these have no points.
    pub smallest: f64,
}

/// The curves of several policies over the same requests.
#[derive(Debug)]
pub struct Curves {
    /// One of each policy, in the order asked for.
    pub curves: Vec<Curve>,
    /// How much windows of the trace ask for, where that was wanted.
    pub working_set: Option<WorkingSet>,
    /// The requests they stand for.
    pub requests: u64,
    /// Those that were left out.
    pub left_out: LeftOut,
    /// Why the trace was not read to its end.
    pub damage: Option<TraceError>,
}

/// Finds LRU's curve while requests go by.
trait Walk {
    /// Takes requests in.
    fn take(&mut self, batch: &[Record]) -> Result<(), CacheError>;

    /// The curve until now; no points where there were no requests.
    fn curve(&self) -> Curve;
}

/// The curves of `policies` on the trace that `reader` gives, from one reading.
///
/// LRU's is a walk over the trace, all other policies are simulated at each capacity.
///
/// # Errors
/// The rate is no share, or the trace holds more than fits in memory.
pub fn curves(reader: &mut dyn TraceReader, policies: &[Choice], wanted: &Wanted) -> Result<Curves, CacheError> {
    let bounds = Bounds::new(&wanted.capacities);
    let is_lru = |policy: &Choice| *policy == Choice::lru();
    let simulated: Vec<Choice> = policies.iter().filter(|policy| !is_lru(policy)).cloned().collect();
    let has_lru = simulated.len() < policies.len();
    let of_lru = wanted.sampling.unwrap_or(Sampling::Whole);
    let of_others = wanted.sampling.unwrap_or(Sampling::Keys(KEYS_SIMULATED));
    let is_whole = |sampling| sampling == Sampling::Whole;
    let mut exact = (has_lru && is_whole(of_lru)).then(|| exact::walk(&bounds, wanted.by_size));
    let walks_sample = has_lru && !is_whole(of_lru) || !simulated.is_empty() && !is_whole(of_others);
    let mut sample = walks_sample.then(|| lru::walk(&bounds, wanted, of_others)).transpose()?;
    let mut held = (!simulated.is_empty()).then(|| Sampled::new(of_others, wanted.seed)).transpose()?;
    let counter = |windows| Counter::new(windows, of_lru, wanted.seed);
    let mut working_set = wanted.windows.as_ref().map(counter).transpose()?;
    let read = read(reader, details(policies, wanted.by_size), |batch, details| {
        working_set.iter_mut().for_each(|counter| counter.take(batch));
        exact.iter_mut().chain(&mut sample).try_for_each(|walk| walk.take(batch))?;
        held.as_mut().map_or(Ok(()), |held| held.take(batch, details))
    })?;
    let sample = sample.map(|walk| walk.curve());
    let mut others = match held.map(Sampled::end) {
        Some((requests, rate)) => {
            let Wanted { by_size, seed, .. } = *wanted;
            let mini = Miniature { requests: &requests, by_size, seed, rate, all: read.requests };
            mini.curves(&simulated, &bounds, sample.as_ref().filter(|_| rate < 1.0))
        }
        None => Vec::new(),
    }
    .into_iter();
    let lru = exact.map(|walk| walk.curve()).or(sample);
    let curve = |policy: &Choice| if is_lru(policy) { lru.clone() } else { others.next() };
    Ok(Curves {
        curves: policies.iter().filter_map(curve).collect(),
        working_set: working_set.map(Counter::finish),
        requests: read.requests,
        left_out: read.left_out,
        damage: read.damage,
    })
}

/// What is looked at in requests.
fn details(policies: &[Choice], by_size: bool) -> Details {
    let sizes = Details { sizes: by_size, ..Details::NONE };
    policies.iter().fold(sizes, |all, policy| all.and(policy.kind().details))
}

/// The bytes of its object, or 1.
fn size_of(record: &Record, by_size: bool) -> u64 {
    if by_size { record.value_size.unwrap_or(0) } else { 1 }
}
