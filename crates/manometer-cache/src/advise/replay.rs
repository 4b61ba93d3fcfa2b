//! Replays a trace on arrangements.

use std::sync::Arc;

use manometer_measure::ByteSize;
use manometer_trace::{Record, TraceError, TraceReader};
use rayon::prelude::*;
use serde::Serialize;

use super::tier_outcome::TierOutcome;
use crate::CacheError;
use crate::tier::workload::{TraceRequests, TraceSettings, read_trace};
use crate::tier::{Arrangement, TierLoad, TierResult, run};

/// An arrangement and its result.
#[derive(Debug, Clone)]
pub struct ReplayResult {
    /// The arrangement.
    pub arrangement: Arrangement,
    /// Its result.
    pub outcome: TierResult,
}

/// A change for the sensitivity analysis.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SensitivityChange {
    /// The memory, by a factor.
    Memory(f64),
    /// The memory, as a share of the origin.
    MemoryShare(f64),
    /// The cache size, by a factor.
    Cache(f64),
}

/// The changes. Little memory is 20 % of 20 % of the origin, as in the cache thesis.
pub const CHANGES: [SensitivityChange; 5] = [
    SensitivityChange::Memory(0.5),
    SensitivityChange::Memory(2.0),
    SensitivityChange::MemoryShare(0.04),
    SensitivityChange::Cache(0.5),
    SensitivityChange::Cache(2.0),
];

/// A change, and the throughput of an arrangement with and without its cache.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SensitivityResult {
    /// The change.
    pub change: SensitivityChange,
    /// The throughput of the origin alone, in 10^6 bytes per second.
    pub alone_mb_per_s: f64,
    /// The throughput with the cache.
    pub cached_mb_per_s: f64,
    /// The break-even price per GB of the cache's devices, if known.
    pub break_even_per_gb: Option<f64>,
    /// Its ends, with the error of the model and of the prices.
    pub break_even_interval: Option<[f64; 2]>,
    /// Whether the cache pays at the current price; `None` if it is unknown or too close to call.
    pub pays: Option<bool>,
    /// The same in a word.
    pub verdict: TierOutcome,
}

/// A trace to replay.
#[derive(Debug, Clone)]
pub struct ReplayInput {
    trace: Arc<TraceRequests>,
    settings: TraceSettings,
}

impl ReplayInput {
    /// Reads up to `requests` requests, to be sent by `threads` threads in a closed loop.
    ///
    /// # Errors
    /// There are none, or they are of two kinds.
    pub fn read(
        reader: &mut dyn TraceReader,
        requests_max: u64,
        threads: u32,
        object_size: ByteSize,
    ) -> Result<Self, CacheError> {
        let trace = read_trace(&mut TraceHead { reader, left: requests_max }, object_size.0)?;
        if trace.requests.is_empty() {
            return Err(CacheError::Invalid("the trace has no requests to replay".to_owned()));
        }
        let settings = TraceSettings { threads: Some(threads), is_direct: false };
        Ok(Self { trace: Arc::new(trace), settings })
    }

    /// Bytes of storage that the requests touch.
    pub fn bytes(&self) -> u64 {
        self.trace.bytes
    }

    /// The number of requests.
    pub fn requests(&self) -> u64 {
        self.trace.requests.len() as u64
    }

    /// Replays it on each arrangement, in parallel.
    ///
    /// # Errors
    /// One of them is too small.
    pub fn on(&self, arrangements: Vec<Arrangement>) -> Result<Vec<ReplayResult>, CacheError> {
        let ran = arrangements.into_par_iter().with_max_len(1).map(|arrangement| {
            let outcome = run(&arrangement, &TierLoad::Trace(Arc::clone(&self.trace), self.settings))
                .map_err(|error| CacheError::Invalid(format!("the arrangement `{}`: {error}", arrangement.name)))?;
            Ok(ReplayResult { arrangement, outcome })
        });
        ran.collect()
    }
}

/// An arrangement with a change; `None` without a cache to change, or if the result is invalid.
pub fn changed(arrangement: &Arrangement, change: SensitivityChange) -> Option<Arrangement> {
    let mut other = arrangement.clone();
    let times = |size: ByteSize, times: f64| ByteSize((size.0 as f64 * times) as u64);
    match change {
        SensitivityChange::Memory(factor) => other.host.ram = times(other.host.ram, factor),
        SensitivityChange::MemoryShare(share) => {
            let little = times(other.origin.size, share);
            // As much or more adds nothing to half and twice as much.
            (little.0 < other.host.ram.0 / 2).then(|| other.host.ram = little)?;
        }
        SensitivityChange::Cache(factor) => {
            let cache = other.cache.as_mut()?;
            cache.size = times(cache.size, factor);
        }
    }
    other.validate().is_ok().then_some(other)
}

/// Adds the origin without a cache of each arrangement with one, unless it is there.
pub fn with_origins(mut arrangements: Vec<Arrangement>) -> Vec<Arrangement> {
    let origin = |arrangement: &Arrangement| {
        let origin = &arrangement.origin;
        (origin.device.clone(), origin.count, origin.raid, origin.size)
    };
    let mut alone: Vec<_> = arrangements.iter().filter(|one| one.cache.is_none()).map(origin).collect();
    for cached in arrangements.clone().iter().filter(|arrangement| arrangement.cache.is_some()) {
        if !alone.contains(&origin(cached)) {
            alone.push(origin(cached));
            arrangements.push(cached.without_cache(cached.origin.count, cached.origin.raid));
        }
    }
    arrangements
}

/// The first requests of a trace.
struct TraceHead<'a> {
    reader: &'a mut dyn TraceReader,
    left: u64,
}

impl TraceReader for TraceHead<'_> {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        batch.clear();
        if self.left == 0 {
            return Ok(0);
        }
        self.reader.read(batch)?;
        batch.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= batch.len() as u64;
        Ok(batch.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::basis::tests_trace;
    use crate::advise::{TierSizes, shipped};

    fn arrangements() -> Vec<Arrangement> {
        shipped(&TierSizes::of(1 << 26, 1 << 22)).unwrap()
    }

    fn named(name: &str) -> Arrangement {
        arrangements().into_iter().find(|arrangement| arrangement.name == name).unwrap()
    }

    #[test]
    fn the_first_requests_are_replayed_everywhere() {
        let text: String = (0..2000).map(|request| format!("{}\n", request * 7 % 500)).collect();
        let replayed = ReplayInput::read(&mut *tests_trace(&text), 1500, 16, ByteSize(4096)).unwrap();
        assert_eq!((replayed.requests(), replayed.bytes()), (1500, 500 * 4096));
        let sizes = TierSizes::of(replayed.bytes(), 1 << 20);
        let ran = replayed.on(shipped(&sizes).unwrap()).unwrap();
        assert_eq!(ran.len(), 7);
        assert!(ran.iter().all(|ran| ran.outcome.requests == 1500 && ran.outcome.mb_per_s > 0.0));
    }

    #[test]
    fn what_does_not_hold_the_trace_is_named() {
        let replayed = ReplayInput::read(&mut *tests_trace("1\n2\n3\n"), 10, 1, ByteSize(64 << 20)).unwrap();
        let error = replayed.on(vec![named("4h0")]).unwrap_err().to_string();
        assert!(error.starts_with("the arrangement `4h0`: the trace is for "), "{error}");
        assert!(ReplayInput::read(&mut *tests_trace("1\n"), 0, 1, ByteSize(4096)).is_err());
    }

    #[test]
    fn a_change_changes_one_thing() {
        let cached = named("dmcache-1s-1h");
        let (ram, cache) = (cached.host.ram.0, cached.cache.as_ref().unwrap().size.0);
        let less = changed(&cached, SensitivityChange::Memory(0.5)).unwrap();
        assert_eq!((less.host.ram.0, less.cache.unwrap().size.0), (ram / 2, cache));
        let more = changed(&cached, SensitivityChange::Cache(2.0)).unwrap();
        assert_eq!((more.host.ram.0, more.cache.unwrap().size.0), (ram, cache * 2));
        assert!(changed(&named("1h"), SensitivityChange::Cache(2.0)).is_none());
        assert!(changed(&cached, SensitivityChange::MemoryShare(0.04)).is_none(), "it has as little");
        let mut large = named("1h");
        large.host.ram = large.origin.size;
        let little = changed(&large, SensitivityChange::MemoryShare(0.04)).unwrap();
        assert_eq!(little.host.ram.0, (large.origin.size.0 as f64 * 0.04) as u64);
    }

    #[test]
    fn an_origin_that_is_missing_is_added_once() {
        let all = with_origins(vec![named("dmcache-1s-4h0"), named("bcache-1s-4h0"), named("1h")]);
        let names: Vec<&str> = all.iter().map(|arrangement| arrangement.name.as_str()).collect();
        assert_eq!(names, ["dmcache-1s-4h0", "bcache-1s-4h0", "1h", "dmcache-1s-4h0 without a cache on 4 × hdd"]);
        assert_eq!(with_origins(arrangements()).len(), 7);
    }
}
