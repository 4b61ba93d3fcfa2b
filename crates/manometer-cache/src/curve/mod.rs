//! Miss-ratio curves: the misses of a policy over all cache sizes.

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
use crate::sampling::{RequestSampler, Sampling};
use crate::trace_scan::{ExcludedRequests, scan_trace};
use capacities::CapacityGrid;
use miniature::MiniatureSimulation;
use working_set::WorkingSetCounter;

pub use knee::knees;
pub use parquet::write_parquet;
pub use working_set::{WindowLengths, WorkingSetCurve, WorkingSetSize, WorkingSetWindow};

/// The default number of simulated keys.
pub const DEFAULT_SIMULATED_KEYS: usize = 1 << 16;

/// The options of a curve.
#[derive(Debug, Clone)]
pub struct CurveOptions {
    /// Whether objects have sizes and capacities are in bytes.
    pub by_size: bool,
    /// The capacities; if empty, in steps of 1/32.
    pub capacities: Vec<u64>,
    /// The part of the trace to use; default: all of it for LRU, and [`DEFAULT_SIMULATED_KEYS`] for other policies.
    pub sampling: Option<Sampling>,
    /// The windows of the working set, if wanted; over the whole trace unless `sampling` is set.
    pub windows: Option<WindowLengths>,
    /// The seed of the sample and of randomised policies.
    pub seed: u64,
}

/// A cache size and its misses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// The capacity in objects or bytes.
    pub capacity: u64,
    /// The miss ratio.
    pub miss_ratio: f64,
    /// Half the width of its 95 % confidence interval; `None` if it is exact.
    pub error: Option<f64>,
}

/// The miss-ratio curve of a policy.
#[derive(Debug, Clone)]
pub struct MissRatioCurve {
    /// The points by capacity.
    pub points: Vec<CurvePoint>,
    /// The size of all keys of the trace in objects or bytes; an estimate from a sample.
    pub footprint: f64,
    /// Room for all objects at any time, which is more than `footprint` if objects shrink, and LRU's misses with it. `None`
    /// for other policies, and without points.
    pub all: Option<CurvePoint>,
    /// The share of the keys that was used in the end.
    pub rate: f64,
    /// The capacity below which the sample is too small, so that there are no points.
    pub smallest: f64,
}

/// The curves of several policies for the same requests.
#[derive(Debug)]
pub struct MissRatioCurves {
    /// The curve of each policy, in the given order.
    pub curves: Vec<MissRatioCurve>,
    /// The working set, if wanted.
    pub working_set: Option<WorkingSetCurve>,
    /// The number of requests.
    pub requests: u64,
    /// The excluded requests.
    pub excluded: ExcludedRequests,
    /// The damage that ended the trace, if any.
    pub damage: Option<TraceError>,
}

/// Computes LRU's curve from a stream of requests.
trait LruCurveBuilder {
    /// Adds requests.
    fn add(&mut self, batch: &[Record]) -> Result<(), CacheError>;

    /// The curve so far; without points if there were no requests.
    fn curve(&self) -> MissRatioCurve;
}

/// Estimates LRU's curve from a sample of keys.
trait SampledCurveBuilder: LruCurveBuilder {
    /// The points of [`curve`](LruCurveBuilder::curve), with the error that the choice of keys makes at a given depth alone.
    fn reference(&self) -> Vec<CurvePoint>;
}

/// The curves of `policies` on the trace of `reader`, in one pass.
///
/// LRU's curve is computed from its stack distances; all other policies are simulated at each capacity.
///
/// # Errors
/// The rate is invalid, or the trace does not fit in memory.
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
    let scan = scan_trace(reader, PolicySpec::fields(policies, wanted.by_size), |batch, details| {
        working_set.iter_mut().for_each(|counter| counter.add(batch));
        exact.iter_mut().try_for_each(|walk| walk.add(batch))?;
        sample.iter_mut().try_for_each(|walk| walk.add(batch))?;
        held.as_mut().map_or(Ok(()), |held| held.add(batch, details))
    })?;
    let mut others = match held.map(RequestSampler::finish) {
        Some((requests, rate)) => {
            let CurveOptions { by_size, seed, .. } = *wanted;
            let mini = MiniatureSimulation { requests: &requests, by_size, seed, rate, all: scan.requests };
            let lru = sample.as_ref().filter(|_| rate < 1.0).map(|walk| walk.reference());
            mini.curves(&simulated, &grid, lru.as_deref())
        }
        None => Vec::new(),
    }
    .into_iter();
    let lru = exact.map(|walk| walk.curve()).or_else(|| sample.map(|walk| walk.curve()));
    let curve = |policy: &PolicySpec| if is_lru(policy) { lru.clone() } else { others.next() };
    Ok(MissRatioCurves {
        curves: policies.iter().filter_map(curve).collect(),
        working_set: working_set.map(WorkingSetCounter::finish),
        requests: scan.requests,
        excluded: scan.excluded,
        damage: scan.damage,
    })
}

/// The size of the request's object, or 1.
fn size_of(record: &Record, by_size: bool) -> u64 {
    if by_size { record.value_size.unwrap_or(0) } else { 1 }
}
