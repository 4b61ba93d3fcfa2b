//! Miss-ratio curves: the misses of a policy over all sizes of its cache.

mod capacities;
mod exact;
pub(crate) mod interval;
mod knee;
pub(crate) mod miniature;
mod parquet;
mod reusable_ids;
mod sampled;
mod working_set;

use manometer_trace::{Record, TraceError, TraceReader};

use crate::error::CacheError;
use crate::policy_spec::PolicySpec;
use crate::request::RequestFields;
use crate::sampling::{RequestSampler, Sampling};
use crate::trace_scan::{ExcludedRequests, scan_trace};
use capacities::CapacityGrid;
use miniature::MiniatureSimulation;
use working_set::WorkingSetCounter;

pub use knee::knees;
pub use parquet::write_parquet;
pub use working_set::{WindowLengths, WorkingSet, WorkingSetSize, WorkingSetWindow};

/// How many keys are simulated, unless said.
pub const DEFAULT_SIMULATED_KEYS: usize = 1 << 16;

/// What a curve is to show.
#[derive(Debug, Clone)]
pub struct CurveOptions {
    /// Whether capacities are in bytes, and objects have their sizes.
    pub by_size: bool,
    /// At which capacities; at steps of a thirty-second where none are given.
    pub capacities: Vec<u64>,
    /// How much of the trace it is made of; where that is not said, all of it for LRU, and [`KEYS_SIMULATED`] for
    /// what has to be simulated.
    pub sampling: Option<Sampling>,
    /// The windows of the working set, where it is wanted; of all of the trace unless `sampling` says otherwise.
    pub windows: Option<WindowLengths>,
    /// Which keys are in the sample, and what chance decides in the policy.
    pub seed: u64,
}

/// A size of the cache, and its misses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// Objects, or bytes.
    pub capacity: u64,
    /// Misses for each request.
    pub miss_ratio: f64,
    /// Half of the 95 % interval around it; none where nothing is estimated.
    pub error: Option<f64>,
}

/// The misses of one policy over all sizes.
#[derive(Debug, Clone)]
pub struct MissRatioCurve {
    /// By capacity.
    pub points: Vec<CurvePoint>,
    /// What all keys of the trace take: objects, or bytes; an estimate where it is made of a sample.
    pub footprint: f64,
    /// The share of the keys that it was made of at the end.
    pub rate: f64,
    /// The capacity below which so small a sample says nothing: no points there.
    pub smallest: f64,
}

/// The curves of several policies over the same requests.
#[derive(Debug)]
pub struct MissRatioCurves {
    /// One of each policy, in the order requested.
    pub curves: Vec<MissRatioCurve>,
    /// How much windows of the trace request, where that was wanted.
    pub working_set: Option<WorkingSet>,
    /// The requests they stand for.
    pub requests: u64,
    /// Those that were left out.
    pub excluded: ExcludedRequests,
    /// Why the trace was not read to its end.
    pub damage: Option<TraceError>,
}

/// Finds LRU's curve while requests go by.
trait LruCurveBuilder {
    /// Takes requests in.
    fn add(&mut self, batch: &[Record]) -> Result<(), CacheError>;

    /// The curve until now; no points where there were no requests.
    fn curve(&self) -> MissRatioCurve;
}

/// The curves of `policies` on the trace that `reader` gives, from one reading.
///
/// LRU's is a walk over the trace, all other policies are simulated at each capacity.
///
/// # Errors
/// The rate is no share, or the trace holds more than fits in memory.
pub fn curves(
    reader: &mut dyn TraceReader,
    policies: &[PolicySpec],
    wanted: &CurveOptions,
) -> Result<MissRatioCurves, CacheError> {
    let grid = CapacityGrid::new(&wanted.capacities);
    let is_lru = |policy: &PolicySpec| *policy == PolicySpec::lru();
    let simulated: Vec<PolicySpec> = policies.iter().filter(|policy| !is_lru(policy)).cloned().collect();
    let has_lru = simulated.len() < policies.len();
    let of_lru = wanted.sampling.unwrap_or(Sampling::Full);
    let of_others = wanted.sampling.unwrap_or(Sampling::Keys(DEFAULT_SIMULATED_KEYS));
    let is_whole = |sampling| sampling == Sampling::Full;
    let mut exact = (has_lru && is_whole(of_lru)).then(|| exact::walk(&grid, wanted.by_size));
    let walks_sample = has_lru && !is_whole(of_lru) || !simulated.is_empty() && !is_whole(of_others);
    let mut sample = walks_sample.then(|| sampled::walk(&grid, wanted, of_others)).transpose()?;
    let mut held = (!simulated.is_empty()).then(|| RequestSampler::new(of_others, wanted.seed)).transpose()?;
    let counter = |windows| WorkingSetCounter::new(windows, of_lru, wanted.seed);
    let mut working_set = wanted.windows.as_ref().map(counter).transpose()?;
    let scan = scan_trace(reader, details(policies, wanted.by_size), |batch, details| {
        working_set.iter_mut().for_each(|counter| counter.add(batch));
        exact.iter_mut().chain(&mut sample).try_for_each(|walk| walk.add(batch))?;
        held.as_mut().map_or(Ok(()), |held| held.add(batch, details))
    })?;
    let sample = sample.map(|walk| walk.curve());
    let mut others = match held.map(RequestSampler::finish) {
        Some((requests, rate)) => {
            let CurveOptions { by_size, seed, .. } = *wanted;
            let mini = MiniatureSimulation { requests: &requests, by_size, seed, rate, all: scan.requests };
            mini.curves(&simulated, &grid, sample.as_ref().filter(|_| rate < 1.0))
        }
        None => Vec::new(),
    }
    .into_iter();
    let lru = exact.map(|walk| walk.curve()).or(sample);
    let curve = |policy: &PolicySpec| if is_lru(policy) { lru.clone() } else { others.next() };
    Ok(MissRatioCurves {
        curves: policies.iter().filter_map(curve).collect(),
        working_set: working_set.map(WorkingSetCounter::finish),
        requests: scan.requests,
        excluded: scan.excluded,
        damage: scan.damage,
    })
}

/// What is looked at in requests.
fn details(policies: &[PolicySpec], by_size: bool) -> RequestFields {
    let sizes = RequestFields { sizes: by_size, ..RequestFields::NONE };
    policies.iter().fold(sizes, |all, policy| all.union(policy.kind().details))
}

/// The bytes of its object, or 1.
fn size_of(record: &Record, by_size: bool) -> u64 {
    if by_size { record.value_size.unwrap_or(0) } else { 1 }
}
