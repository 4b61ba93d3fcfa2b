//! Cache simulation on trace files and numpy arrays.

use manometer_cache::PolicySpec;
use manometer_cache::curve::{CurveOptions, MissRatioCurve, knees};
use manometer_cache::policy::{POLICIES, PolicyParameter};
use manometer_cache::sampling::Sampling;
use manometer_cache::simulate::SimulationResult;
use manometer_cache::trace_scan::ExcludedRequests;
use manometer_cache::{CacheError, RequestSequence};
use manometer_trace::transform::blocks::Blocks;
use manometer_trace::{BATCH_RECORDS, Record, TraceError, TraceOperation, TraceReader};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use serde_json::json;

use crate::error;
use crate::frame::{Column, Frame, metadata};
use crate::trace::Trace;

/// The source of requests.
#[derive(FromPyObject)]
pub(crate) enum RequestInput<'py> {
    /// A trace, optionally split into blocks of this many bytes.
    Trace(Py<Trace>, Option<u64>),
    /// Arrays of equal length: keys, sizes, whether each request writes, and its time.
    Arrays(
        PyReadonlyArray1<'py, u64>,
        Option<PyReadonlyArray1<'py, u64>>,
        Option<PyReadonlyArray1<'py, u8>>,
        Option<PyReadonlyArray1<'py, u64>>,
    ),
}

/// The source of requests without Python objects.
enum Source<'a> {
    Trace(&'a Trace, Option<u64>),
    Arrays(Arrays<'a>),
}

/// Requests in arrays of equal length.
#[derive(Clone, Copy)]
struct Arrays<'a> {
    keys: &'a [u64],
    sizes: Option<&'a [u64]>,
    /// 0 is a read; anything else is a write.
    writes: Option<&'a [u8]>,
    times_ns: Option<&'a [u64]>,
}

impl RequestInput<'_> {
    fn source(&self) -> PyResult<Source<'_>> {
        match self {
            Self::Trace(trace, block_bytes) => Ok(Source::Trace(trace.get(), *block_bytes)),
            Self::Arrays(keys, sizes, writes, times_ns) => Ok(Source::Arrays(Arrays {
                keys: keys.as_slice()?,
                sizes: sizes.as_ref().map(|sizes| sizes.as_slice()).transpose()?,
                writes: writes.as_ref().map(|writes| writes.as_slice()).transpose()?,
                times_ns: times_ns.as_ref().map(|times_ns| times_ns.as_slice()).transpose()?,
            })),
        }
    }
}

impl<'a> Source<'a> {
    fn reader(&self) -> Result<Box<dyn TraceReader + 'a>, CacheError> {
        match self {
            Self::Trace(trace, None) => Ok(trace.reader(false)?),
            Self::Trace(trace, Some(bytes)) => Ok(Box::new(Blocks::new(trace.reader(false)?, *bytes)?)),
            Self::Arrays(arrays) => {
                let lengths = [
                    ("sizes", arrays.sizes.map(<[u64]>::len)),
                    ("writes", arrays.writes.map(<[u8]>::len)),
                    ("times", arrays.times_ns.map(<[u64]>::len)),
                ];
                for (name, len) in lengths {
                    if let Some(len) = len.filter(|len| *len != arrays.keys.len()) {
                        let keys = arrays.keys.len();
                        return Err(CacheError::Invalid(format!(
                            "there are {keys} keys and {len} {name}: one for each"
                        )));
                    }
                }
                Ok(Box::new(ArrayReader { arrays: *arrays, at: 0 }))
            }
        }
    }
}

/// Reads requests from arrays.
struct ArrayReader<'a> {
    arrays: Arrays<'a>,
    at: usize,
}

impl TraceReader for ArrayReader<'_> {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        let Arrays { keys, sizes, writes, times_ns } = self.arrays;
        let range = self.at..keys.len().min(self.at + BATCH_RECORDS);
        self.at = range.end;
        batch.clear();
        batch.extend(range.map(|at| {
            let writes = writes.is_some_and(|writes| writes[at] != 0);
            let operation = if writes { TraceOperation::Put } else { TraceOperation::Get };
            Record {
                value_size: sizes.map(|sizes| sizes[at]),
                time_ns: times_ns.map(|times_ns| times_ns[at]),
                ..Record::new(operation, keys[at])
            }
        }));
        Ok(batch.len())
    }
}

/// A frame, and the damage that ended the trace, if any.
type FrameWithDamage = (Frame, Option<String>);

/// Simulates every policy at every capacity.
#[pyfunction]
pub(crate) fn simulate(
    py: Python<'_>,
    requested: RequestInput<'_>,
    policies: Vec<String>,
    capacities: Vec<u64>,
    by_size: bool,
    seed: u64,
) -> PyResult<FrameWithDamage> {
    let source = requested.source()?;
    let policies = choices(&policies)?;
    let simulated = py.detach(|| {
        let requests = RequestSequence::read(&mut *source.reader()?, PolicySpec::fields(&policies, by_size))?;
        let outcomes = manometer_cache::simulate::simulate(&requests, &policies, &capacities, by_size, seed);
        Ok((requests, outcomes))
    });
    let (requests, outcomes) = simulated.map_err(error::cache)?;
    simulated_frame(&requests, &policies, &outcomes)
}

fn simulated_frame(
    requests: &RequestSequence,
    policies: &[PolicySpec],
    outcomes: &[SimulationResult],
) -> PyResult<FrameWithDamage> {
    let all = || outcomes.iter();
    let second = |outcome: &SimulationResult| {
        policies[outcome.policy].requests_per_second(requests).map(|requests| requests as f64)
    };
    let of_bytes = |outcome: &SimulationResult| {
        if requests.sizes().is_empty() { None } else { outcome.counters.byte_miss_ratio() }
    };
    let columns = vec![
        Column::texts("policy", all().map(|outcome| Some(policies[outcome.policy].to_string()))),
        Column::whole("capacity", "", all().map(|outcome| Some(outcome.capacity))),
        Column::whole("requests", "", all().map(|outcome| Some(outcome.counters.requests))),
        Column::whole("misses", "", all().map(|outcome| Some(outcome.counters.misses))),
        Column::numbers("miss_ratio", "", all().map(|outcome| outcome.counters.miss_ratio())),
        Column::numbers("byte_miss_ratio", "", all().map(of_bytes)),
        Column::whole("bypassed", "", all().map(|outcome| Some(outcome.counters.bypassed))),
        Column::numbers("requests_per_second", "", all().map(second)),
    ];
    let about = metadata([
        ("requests", requests.len().to_string()),
        ("keys", requests.keys().to_string()),
        ("left_out", left_out_text(requests.excluded())),
    ]);
    Ok((Frame::of(columns, about)?, damage_text(requests.damage())?))
}

/// Computes the miss-ratio curve of every policy.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "each is a keyword of the package's function")]
pub(crate) fn curves(
    py: Python<'_>,
    requested: RequestInput<'_>,
    policies: Vec<String>,
    capacities: Vec<u64>,
    by_size: bool,
    rate: Option<f64>,
    samples: Option<usize>,
    seed: u64,
) -> PyResult<FrameWithDamage> {
    let source = requested.source()?;
    let policies = choices(&policies)?;
    let sampling = rate.map(Sampling::Rate).or(samples.map(Sampling::Keys));
    let wanted = CurveOptions { by_size, capacities, sampling, windows: None, seed };
    let drawn = py.detach(|| manometer_cache::curve::curves(&mut *source.reader()?, &policies, &wanted));
    let drawn = drawn.map_err(error::cache)?;
    let about = metadata([("requests", drawn.requests.to_string()), ("left_out", left_out_text(drawn.excluded))]);
    let columns = curve_columns(&policies, &drawn.curves, if by_size { "bytes" } else { "objects" });
    Ok((Frame::of(columns, about)?, damage_text(drawn.damage.as_ref())?))
}

fn curve_columns(policies: &[PolicySpec], curves: &[MissRatioCurve], unit: &str) -> Vec<Column> {
    let knees: Vec<_> = curves.iter().map(|curve| knees(&curve.points)).collect();
    let all = || {
        let of_curves = policies.iter().zip(curves).zip(&knees);
        of_curves
            .flat_map(|((policy, curve), knees)| curve.points.iter().map(move |point| (policy, curve, knees, point)))
    };
    vec![
        Column::texts("policy", all().map(|(policy, ..)| Some(policy.to_string()))),
        Column::whole("capacity", "", all().map(|(.., point)| Some(point.capacity))),
        Column::texts("unit", all().map(|_| Some(unit.to_owned()))),
        Column::numbers("miss_ratio", "", all().map(|(.., point)| Some(point.miss_ratio))),
        Column::numbers("error", "", all().map(|(.., point)| point.error)),
        Column::numbers("low", "", all().map(|(.., point)| Some((point.miss_ratio - point.error?).max(0.0)))),
        Column::numbers("high", "", all().map(|(.., point)| Some((point.miss_ratio + point.error?).min(1.0)))),
        Column::flags("is_knee", all().map(|(_, _, knees, point)| Some(knees.contains(point)))),
        Column::numbers("rate", "", all().map(|(_, curve, ..)| Some(curve.rate))),
        Column::numbers("footprint", "", all().map(|(_, curve, ..)| Some(curve.footprint))),
    ]
}

/// The damage that ended a trace as text; any other error is raised.
fn damage_text(ended: Option<&TraceError>) -> PyResult<Option<String>> {
    match ended {
        None => Ok(None),
        Some(damage @ TraceError::Damaged { .. }) => Ok(Some(damage.to_string())),
        Some(error) => Err(error::trace(error)),
    }
}

fn left_out_text(ExcludedRequests { deletes, without_size, without_time }: ExcludedRequests) -> String {
    json!({ "deletes": deletes, "without_size": without_size, "without_time": without_time }).to_string()
}

fn choices(texts: &[String]) -> PyResult<Vec<PolicySpec>> {
    texts.iter().map(|text| text.parse()).collect::<Result<_, _>>().map_err(error::cache)
}

/// Every policy with its parameters, as one JSON array.
#[pyfunction]
pub(crate) fn policies() -> String {
    let parameter = |known: &PolicyParameter| json!({ "name": known.name, "meaning": known.meaning, "default": known.default, "min": known.min, "max": known.max });
    let kind = |kind: &&manometer_cache::policy::PolicyKind| {
        let parameters: Vec<_> = kind.parameters.iter().map(parameter).collect();
        json!({ "name": kind.name, "about": kind.about, "source": kind.source, "parameters": parameters })
    };
    json!(POLICIES.iter().map(kind).collect::<Vec<_>>()).to_string()
}
