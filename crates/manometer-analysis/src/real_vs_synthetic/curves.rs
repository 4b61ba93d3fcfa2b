//! Miss ratio, read time and throughput by cache size, and the differences between loads and between engines.

use serde::Serialize;

use super::estimate::Estimate;
use super::load_names::TRACE;
use super::misses::SimulatedCache;
use super::replays::{CacheReplay, ComparedLoad};
use crate::statistics::moments::mean;

/// The results of a load on a cache of one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CacheSizePoint {
    /// The memory of the cache as a share of the footprint of all keys.
    pub cache: f64,
    /// The memory of the cache in bytes.
    pub cache_bytes: u64,
    /// The share of the reads that missed.
    pub miss_ratio: Estimate,
    /// How much more it missed than an exactly simulated LRU cache of the same share of all data.
    pub above_exact: Estimate,
    /// The mean time until a reader has its value.
    pub read_us: Estimate,
    /// Requests per second.
    pub ops_per_s: Estimate,
}

/// The results of a load on caches of all sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CacheSizeCurve {
    /// The load.
    pub load: String,
    /// The results by size, the smallest first.
    pub points: Vec<CacheSizePoint>,
    /// The read time with the smallest cache divided by that with the largest.
    pub speed_up: Estimate,
    /// The speed-up of each repeat.
    #[serde(skip)]
    speed_ups: Vec<(u32, f64)>,
}

/// The difference between the curves of a synthetic load and of the trace, in shares of one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CurveDifference {
    /// The synthetic load.
    pub load: String,
    /// The root mean square error of the miss ratios.
    pub rmse: f64,
    /// Their mean absolute error.
    pub mean_abs: f64,
    /// Their largest absolute error.
    pub max_abs: f64,
    /// The cache with the largest error, as a share of the footprint of all keys.
    pub max_at: f64,
    /// The relative error of the speed-up: the synthetic load's divided by the trace's, minus one.
    pub speed_up: Estimate,
}

/// The results on one engine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EngineResult {
    /// The engine.
    pub engine: String,
    /// Its version.
    pub version: String,
    /// The memory that all keys of the trace take.
    pub footprint_bytes: u64,
    /// The curve of each load, the trace first.
    pub curves: Vec<CacheSizeCurve>,
    /// The differences of the synthetic loads from the trace, the smallest first.
    pub differences: Vec<CurveDifference>,
}

/// The spread between the engines' miss ratios under one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EngineSpread {
    /// The load.
    pub load: String,
    /// The mean difference between the highest and the lowest miss ratio.
    pub mean: f64,
    /// The largest.
    pub max: f64,
}

/// The result of all `loads` on `engine`.
pub fn engine_result(
    engine: &str,
    version: &str,
    footprint_bytes: u64,
    caches: &[f64],
    loads: &[ComparedLoad],
    replays: &[CacheReplay],
    simulated: &[SimulatedCache],
) -> EngineResult {
    let own: Vec<&CacheReplay> = replays.iter().filter(|replay| replay.engine == engine).collect();
    let curves: Vec<CacheSizeCurve> = loads.iter().map(|load| curve(&load.name, caches, &own, simulated)).collect();
    let trace = curves.iter().find(|curve| curve.load == TRACE);
    let synthetic = curves.iter().filter(|curve| curve.load != TRACE);
    let mut differences: Vec<CurveDifference> =
        synthetic.filter_map(|synthetic| difference(trace?, synthetic)).collect();
    differences.sort_by(|one, other| one.rmse.total_cmp(&other.rmse));
    EngineResult { engine: engine.to_owned(), version: version.to_owned(), footprint_bytes, curves, differences }
}

impl CacheSizeCurve {
    /// The speed-up of each repeat divided by that of `other`.
    pub(super) fn speed_up_ratios(&self, other: &Self) -> Vec<f64> {
        let ratio = |(repeat, speed_up): &(u32, f64)| {
            Some(speed_up / other.speed_ups.iter().find(|(number, _)| number == repeat)?.1)
        };
        self.speed_ups.iter().filter_map(ratio).collect()
    }
}

/// `planned` are the caches of the experiment; an interrupted one has results of fewer.
fn curve(load: &str, planned: &[f64], replays: &[&CacheReplay], simulated: &[SimulatedCache]) -> CacheSizeCurve {
    let own: Vec<&CacheReplay> = replays.iter().copied().filter(|replay| replay.load == load).collect();
    let mut caches: Vec<f64> = own.iter().map(|replay| replay.cache).collect();
    caches.sort_by(f64::total_cmp);
    caches.dedup();
    let point = |cache: f64| {
        let replays: Vec<&CacheReplay> = own.iter().copied().filter(|replay| replay.cache == cache).collect();
        let mean = |value: fn(&CacheReplay) -> Option<f64>| {
            Estimate::of(&replays.iter().filter_map(|replay| value(replay)).collect::<Vec<_>>())
        };
        let exact = simulated.iter().find(|one| one.load == load && one.cache == cache).and_then(|one| one.miss_ratio);
        let above = replays.iter().filter_map(|replay| Some(replay.miss_ratio()? - exact?)).collect::<Vec<_>>();
        CacheSizePoint {
            above_exact: Estimate::of(&above),
            cache,
            cache_bytes: replays.first().map_or(0, |replay| replay.cache_bytes),
            miss_ratio: mean(CacheReplay::miss_ratio),
            read_us: mean(|replay| replay.read_us),
            ops_per_s: mean(|replay| replay.ops_per_s),
        }
    };
    let (smallest, largest) = (planned.iter().copied().reduce(f64::min), planned.iter().copied().reduce(f64::max));
    let speed_ups = match (smallest, largest) {
        (Some(smallest), Some(largest)) if smallest < largest => speed_ups(&own, smallest, largest),
        _ => Vec::new(),
    };
    let ratios: Vec<f64> = speed_ups.iter().map(|(_, ratio)| *ratio).collect();
    CacheSizeCurve {
        load: load.to_owned(),
        points: caches.iter().map(|cache| point(*cache)).collect(),
        speed_up: Estimate::of_ratios(&ratios),
        speed_ups,
    }
}

/// The speed-up of each repeat: both replays of a repeat ran shortly after one another.
fn speed_ups(replays: &[&CacheReplay], smallest: f64, largest: f64) -> Vec<(u32, f64)> {
    let read_us = |cache: f64, repeat: u32| {
        replays.iter().find(|replay| replay.cache == cache && replay.repeat == repeat).and_then(|replay| replay.read_us)
    };
    let mut repeats: Vec<u32> = replays.iter().map(|replay| replay.repeat).collect();
    repeats.sort_unstable();
    repeats.dedup();
    let speed_up = |repeat: u32| Some((repeat, read_us(smallest, repeat)? / read_us(largest, repeat)?));
    repeats.into_iter().filter_map(speed_up).collect()
}

/// The difference of `synthetic` from `trace` over the caches on which both were measured.
fn difference(trace: &CacheSizeCurve, synthetic: &CacheSizeCurve) -> Option<CurveDifference> {
    let error = |point: &CacheSizePoint| {
        let of_trace = trace.points.iter().find(|other| other.cache == point.cache)?;
        Some((point.cache, (point.miss_ratio.mean? - of_trace.miss_ratio.mean?).abs()))
    };
    let errors: Vec<(f64, f64)> = synthetic.points.iter().filter_map(error).collect();
    let (max_at, max_abs) = errors.iter().copied().max_by(|one, other| one.1.total_cmp(&other.1))?;
    let sizes: Vec<f64> = errors.iter().map(|(_, size)| *size).collect();
    let squares: Vec<f64> = sizes.iter().map(|size| size * size).collect();
    let ratios = synthetic.speed_up_ratios(trace);
    Some(CurveDifference {
        load: synthetic.load.clone(),
        rmse: mean(&squares)?.sqrt(),
        mean_abs: mean(&sizes)?,
        max_abs,
        max_at,
        speed_up: Estimate::of_ratios(&ratios).map(|ratio| ratio - 1.0),
    })
}

/// The spread between `engines` under each load; empty for fewer than two engines.
pub fn engine_spreads(engines: &[EngineResult]) -> Vec<EngineSpread> {
    let Some((first, others)) = engines.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Vec::new();
    };
    let miss_ratio = |engine: &EngineResult, load: &str, cache: f64| {
        let curve = engine.curves.iter().find(|curve| curve.load == load)?;
        curve.points.iter().find(|point| point.cache == cache)?.miss_ratio.mean
    };
    let spread = |curve: &CacheSizeCurve| {
        let spread_at = |point: &CacheSizePoint| {
            let own = point.miss_ratio.mean?;
            let ratios: Vec<f64> =
                others.iter().map(|engine| miss_ratio(engine, &curve.load, point.cache)).collect::<Option<_>>()?;
            let (low, high) = ratios.iter().fold((own, own), |(low, high), ratio| (low.min(*ratio), high.max(*ratio)));
            Some(high - low)
        };
        let spreads: Vec<f64> = curve.points.iter().filter_map(spread_at).collect();
        let max = spreads.iter().copied().max_by(f64::total_cmp)?;
        Some(EngineSpread { load: curve.load.clone(), mean: mean(&spreads)?, max })
    };
    first.curves.iter().filter_map(spread).collect()
}
