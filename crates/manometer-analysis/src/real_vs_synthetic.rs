//! What synthetic load gets wrong: a trace and synthetic loads of its keys on the same caches.
//!
//! Everything is computed from the [`Replay`]s; nothing here is measured. `docs/real-vs-synthetic.md` says what each
//! field means.

pub mod findings;

use manometer_measure::event::Finding;
use serde::Serialize;
use serde_json::Value;

use crate::statistics::SIGNIFICANCE;
use crate::statistics::moments::{mean, quantiles};
use crate::statistics::student::critical_value;

/// The name of the load that is the trace itself.
pub const TRACE: &str = "trace";
/// The name of the synthetic load that the trace is judged against first: it is fitted to it.
pub const ZIPF: &str = "zipf";
/// The two loads of the comparison of sizes: values spread over the slabs, and their mean as one size.
pub const SPREAD: &str = "spread sizes";
/// See [`SPREAD`].
pub const FIXED: &str = "one size";

/// What one replay of one load on one cache measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Replay {
    /// The engine.
    pub engine: String,
    /// The load.
    pub load: String,
    /// The memory of the cache as a share of what all keys take in this engine.
    pub cache: f64,
    /// The memory of the cache as the engine was told it.
    pub cache_bytes: u64,
    /// Which repeat, from 1.
    pub repeat: u32,
    /// Requests that were sent.
    pub requests: u64,
    /// Of these, failed.
    pub errors: u64,
    /// Reads that were answered.
    pub reads: u64,
    /// Reads that found nothing.
    pub missing: u64,
    /// The mean time until a reader had its value: that of the read, and of the put after a miss.
    pub read_us: Option<f64>,
    /// The mean latency of puts, those after misses among them.
    pub write_us: Option<f64>,
    /// Requests that were answered, without the puts after misses, per second.
    pub ops_per_s: Option<f64>,
    /// The text of the first failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Replay {
    /// The share of the reads that found nothing.
    pub fn miss_ratio(&self) -> Option<f64> {
        (self.reads > 0).then(|| self.missing as f64 / self.reads as f64)
    }
}

/// A load: who asks for which keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Load {
    /// Its name.
    pub name: String,
    /// Its requests.
    pub requests: u64,
    /// The keys that it asks for.
    pub keys: u64,
    /// The keys that it was drawn from; more than it asks for, as some of them are never drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drawn_from: Option<u64>,
    /// Its exponent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exponent: Option<f64>,
}

/// A mean over repeats, with its 95 % interval.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Mean {
    /// The mean.
    pub mean: Option<f64>,
    /// The interval's lower end.
    pub ci_low: Option<f64>,
    /// The interval's upper end.
    pub ci_high: Option<f64>,
    /// How many repeats.
    pub samples: usize,
    /// Why something is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
}

impl Mean {
    /// The mean of `values`.
    pub fn of(values: &[f64]) -> Self {
        let Some(mean) = mean(values) else {
            return Self { reason: Some("nothing was measured"), ..Self::default() };
        };
        let samples = values.len();
        let freedom = samples as f64 - 1.0;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let half = critical_value(SIGNIFICANCE, freedom)
            .map(|critical| critical * (squares / freedom / samples as f64).sqrt());
        Self {
            mean: Some(mean),
            ci_low: half.map(|half| mean - half),
            ci_high: half.map(|half| mean + half),
            samples,
            reason: half.is_none().then_some("an interval needs two repeats"),
        }
    }

    /// The mean of `ratios`, which are as likely to be half as double: of their logarithms.
    pub fn of_ratios(ratios: &[f64]) -> Self {
        let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        Self::of(&logarithms).each(f64::exp)
    }

    fn each(self, change: impl Fn(f64) -> f64) -> Self {
        let [mean, ci_low, ci_high] = [self.mean, self.ci_low, self.ci_high].map(|value| value.map(&change));
        Self { mean, ci_low, ci_high, ..self }
    }

    /// Whether it can be told from 0.
    fn is_sure(&self) -> bool {
        self.ci_low.is_some_and(|low| low > 0.0) || self.ci_high.is_some_and(|high| high < 0.0)
    }
}

/// What a load made of a cache of one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// The memory of the cache as a share of what all keys take.
    pub cache: f64,
    /// The same in bytes.
    pub cache_bytes: u64,
    /// The share of the reads that found nothing.
    pub miss_ratio: Mean,
    /// The mean time until a reader had its value.
    pub read_us: Mean,
    /// Requests per second.
    pub ops_per_s: Mean,
}

/// What a load made of caches of all sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// The load.
    pub load: String,
    /// The sizes, the smallest first.
    pub points: Vec<Point>,
    /// How many times faster readers had their values with the largest cache than with the smallest.
    pub speed_up: Mean,
    /// The same, repeat by repeat.
    #[serde(skip)]
    speed_ups: Vec<(u32, f64)>,
}

/// How far the curve of a synthetic load is from that of the trace. Shares of one, not per cent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The synthetic load.
    pub load: String,
    /// The root of the mean square of the differences of the miss ratios.
    pub rmse: f64,
    /// Their mean size.
    pub mean_abs: f64,
    /// The largest.
    pub max_abs: f64,
    /// With which cache it is that large, as a share of what all keys take.
    pub max_at: f64,
    /// By how much the synthetic load has the speed-up too high: its own divided by the trace's, less one.
    pub speed_up: Mean,
}

/// The results on one engine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EngineResult {
    /// The engine.
    pub engine: String,
    /// Its version.
    pub version: String,
    /// The memory that all keys of the trace take in it.
    pub footprint_bytes: u64,
    /// What each load made of it, the trace first.
    pub curves: Vec<Curve>,
    /// How far the synthetic loads are from the trace, the nearest first.
    pub differences: Vec<Difference>,
}

/// How far the curves of the engines are from one another under one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BetweenEngines {
    /// The load.
    pub load: String,
    /// The mean difference between the highest and the lowest miss ratio.
    pub mean: f64,
    /// The largest.
    pub max: f64,
}

/// Five numbers of a box plot, and what is told of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BoxPlot {
    /// The least.
    pub min: f64,
    /// The lower quartile.
    pub q1: f64,
    /// The median.
    pub median: f64,
    /// The upper quartile.
    pub q3: f64,
    /// The most.
    pub max: f64,
    /// From the least to the most.
    pub range: f64,
    /// From the lower to the upper quartile.
    pub iqr: f64,
    /// How many values.
    pub samples: usize,
}

impl BoxPlot {
    /// Of `values`; nothing of none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let [min, q1, median, q3, max] = quantiles(values, [0.0, 0.25, 0.5, 0.75, 1.0])?;
        Some(Self { min, q1, median, q3, max, range: max - min, iqr: q3 - q1, samples: values.len() })
    }
}

/// What the nodes of a cluster get under one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeLoad {
    /// The load.
    pub load: String,
    /// Requests of each node in each second.
    pub requests: Option<BoxPlot>,
    /// The requests of the node that gets most in any second, second by second.
    pub hottest: Vec<u64>,
}

/// How requests fall on the nodes of a cluster, second by second.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HotSpots {
    /// How many nodes share the slots.
    pub nodes: u32,
    /// How many requests are one second's, as fast as the trace was replayed here.
    pub requests_per_s: u64,
    /// Each load's.
    pub loads: Vec<NodeLoad>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a choice of sizes made of memcached.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SlabLoad {
    /// Which sizes.
    pub sizes: String,
    /// The mean latency of puts.
    pub write_us: Mean,
    /// The share of the reads that found nothing.
    pub miss_ratio: Mean,
    /// Requests per second.
    pub ops_per_s: Mean,
}

/// Values of many sizes against values of one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Slabs {
    /// The classes of slabs that the sizes are spread over.
    pub classes: u32,
    /// The mean size of a value, which is the one size as well.
    pub value_bytes_mean: u64,
    /// The memory of the cache.
    pub cache_bytes: u64,
    /// Both choices.
    pub loads: Vec<SlabLoad>,
}

/// The whole comparison: what `--format json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Our version.
    pub manometer: &'static str,
    /// The experiment's name.
    pub experiment: String,
    /// Whether all of it was measured: `complete`, `interrupted` or `failed`.
    pub status: &'static str,
    /// What came out, in a sentence.
    pub headline: String,
    /// How popular keys are in the trace: Zipf's law as it fits, or null.
    pub zipf: Value,
    /// The loads.
    pub loads: Vec<Load>,
    /// The engines.
    pub engines: Vec<EngineResult>,
    /// How far the engines are from one another under each load.
    pub between_engines: Vec<BetweenEngines>,
    /// How requests fall on the nodes of a cluster.
    pub hot_spots: Option<HotSpots>,
    /// Values of many sizes against values of one.
    pub slabs: Option<Slabs>,
    /// What a reader must know.
    pub findings: Vec<Finding>,
    /// Every replay.
    pub replays: Vec<Replay>,
}

/// What `engine` made of all loads of `loads` in `replays`.
pub fn engine_result(
    engine: &str,
    version: &str,
    footprint_bytes: u64,
    caches: &[f64],
    loads: &[Load],
    replays: &[Replay],
) -> EngineResult {
    let own: Vec<&Replay> = replays.iter().filter(|replay| replay.engine == engine).collect();
    let curves: Vec<Curve> = loads.iter().map(|load| curve(&load.name, caches, &own)).collect();
    let real = curves.iter().find(|curve| curve.load == TRACE);
    let others = curves.iter().filter(|curve| curve.load != TRACE);
    let mut differences: Vec<Difference> = others.filter_map(|other| difference(real?, other)).collect();
    differences.sort_by(|one, other| one.rmse.total_cmp(&other.rmse));
    EngineResult { engine: engine.to_owned(), version: version.to_owned(), footprint_bytes, curves, differences }
}

/// `planned` are the caches that were to be measured; what was ended before has fewer.
fn curve(load: &str, planned: &[f64], replays: &[&Replay]) -> Curve {
    let own: Vec<&Replay> = replays.iter().copied().filter(|replay| replay.load == load).collect();
    let mut caches: Vec<f64> = own.iter().map(|replay| replay.cache).collect();
    caches.sort_by(f64::total_cmp);
    caches.dedup();
    let point = |cache: f64| {
        let here: Vec<&Replay> = own.iter().copied().filter(|replay| replay.cache == cache).collect();
        let mean =
            |of: fn(&Replay) -> Option<f64>| Mean::of(&here.iter().filter_map(|replay| of(replay)).collect::<Vec<_>>());
        Point {
            cache,
            cache_bytes: here.first().map_or(0, |replay| replay.cache_bytes),
            miss_ratio: mean(Replay::miss_ratio),
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
    Curve {
        load: load.to_owned(),
        points: caches.iter().map(|cache| point(*cache)).collect(),
        speed_up: Mean::of_ratios(&ratios),
        speed_ups,
    }
}

/// Repeat by repeat, as both were measured near one another.
fn speed_ups(replays: &[&Replay], smallest: f64, largest: f64) -> Vec<(u32, f64)> {
    let of = |cache: f64, repeat: u32| {
        replays.iter().find(|replay| replay.cache == cache && replay.repeat == repeat).and_then(|replay| replay.read_us)
    };
    let mut repeats: Vec<u32> = replays.iter().map(|replay| replay.repeat).collect();
    repeats.sort_unstable();
    repeats.dedup();
    let ratio = |repeat: u32| Some((repeat, of(smallest, repeat)? / of(largest, repeat)?));
    repeats.into_iter().filter_map(ratio).collect()
}

/// How far `other` is from `real`, where both were measured.
fn difference(real: &Curve, other: &Curve) -> Option<Difference> {
    let apart = |point: &Point| {
        let there = real.points.iter().find(|there| there.cache == point.cache)?;
        Some((point.cache, (point.miss_ratio.mean? - there.miss_ratio.mean?).abs()))
    };
    let apart: Vec<(f64, f64)> = other.points.iter().filter_map(apart).collect();
    let (max_at, max_abs) = apart.iter().copied().max_by(|one, other| one.1.total_cmp(&other.1))?;
    let sizes: Vec<f64> = apart.iter().map(|(_, size)| *size).collect();
    let squares: Vec<f64> = sizes.iter().map(|size| size * size).collect();
    let error = |(repeat, own): &(u32, f64)| Some(own / real.speed_ups.iter().find(|(one, _)| one == repeat)?.1);
    let errors: Vec<f64> = other.speed_ups.iter().filter_map(error).collect();
    Some(Difference {
        load: other.load.clone(),
        rmse: mean(&squares)?.sqrt(),
        mean_abs: mean(&sizes)?,
        max_abs,
        max_at,
        speed_up: Mean::of_ratios(&errors).each(|ratio| ratio - 1.0),
    })
}

/// How far the curves of `engines` are from one another under each load; nothing of fewer than two engines.
pub fn between_engines(engines: &[EngineResult]) -> Vec<BetweenEngines> {
    let Some((first, others)) = engines.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Vec::new();
    };
    let of = |engine: &EngineResult, load: &str, cache: f64| {
        let curve = engine.curves.iter().find(|curve| curve.load == load)?;
        curve.points.iter().find(|point| point.cache == cache)?.miss_ratio.mean
    };
    let spread = |curve: &Curve| {
        let at = |point: &Point| {
            let own = point.miss_ratio.mean?;
            let all: Vec<f64> =
                others.iter().map(|engine| of(engine, &curve.load, point.cache)).collect::<Option<_>>()?;
            let (least, most) = all.iter().fold((own, own), |(least, most), one| (least.min(*one), most.max(*one)));
            Some(most - least)
        };
        let spreads: Vec<f64> = curve.points.iter().filter_map(at).collect();
        let max = spreads.iter().copied().max_by(f64::total_cmp)?;
        Some(BetweenEngines { load: curve.load.clone(), mean: mean(&spreads)?, max })
    };
    first.curves.iter().filter_map(spread).collect()
}

/// The requests of `nodes` nodes that share the slots evenly, of which `slots` are asked for one after the other,
/// `requests_per_s` in a second. A last second that is cut short is left out.
pub fn node_load(load: &str, slots: &[u16], all_slots: u16, nodes: u32, requests_per_s: u64) -> NodeLoad {
    let node = |slot: u16| (u64::from(slot) * u64::from(nodes) / u64::from(all_slots)) as usize;
    let window = usize::try_from(requests_per_s.max(1)).unwrap_or(usize::MAX);
    let mut seconds: Vec<Vec<u64>> = Vec::new();
    for second in slots.chunks_exact(window) {
        let mut counts = vec![0; nodes as usize];
        second.iter().for_each(|slot| counts[node(*slot)] += 1);
        seconds.push(counts);
    }
    let all: Vec<f64> = seconds.iter().flatten().map(|count| *count as f64).collect();
    let hottest = (0..nodes as usize).max_by_key(|node| seconds.iter().map(|counts| counts[*node]).max());
    let hottest = hottest.map_or(Vec::new(), |node| seconds.iter().map(|counts| counts[node]).collect());
    NodeLoad { load: load.to_owned(), requests: BoxPlot::of(&all), hottest }
}

/// What sizes made of memcached, of the replays of [`SPREAD`] and [`FIXED`].
pub fn slab_loads(replays: &[Replay]) -> Vec<SlabLoad> {
    let of = |name: &str| {
        let mean = |of: fn(&Replay) -> Option<f64>| {
            Mean::of(&replays.iter().filter(|replay| replay.load == name).filter_map(of).collect::<Vec<_>>())
        };
        SlabLoad {
            sizes: name.to_owned(),
            write_us: mean(|replay| replay.write_us),
            miss_ratio: mean(Replay::miss_ratio),
            ops_per_s: mean(|replay| replay.ops_per_s),
        }
    };
    [SPREAD, FIXED].map(of).into()
}

/// What came out, in a sentence: of the load that is fitted to the trace, where it is farthest off.
pub fn headline(engines: &[EngineResult]) -> String {
    let told = |engine: &EngineResult| {
        let zipf = engine.differences.iter().find(|one| one.load == ZIPF)?;
        // What chance may have done is no result.
        let speed_up = zipf.speed_up.mean.filter(|_| zipf.speed_up.is_sure()).map(|error| {
            let word = if error < 0.0 { "low" } else { "high" };
            format!(" (speed-up {:.1} % too {word})", 100.0 * error.abs())
        });
        let points = 100.0 * zipf.max_abs;
        Some(format!("{points:.1} points of miss ratio on {}{}", engine.engine, speed_up.unwrap_or_default()))
    };
    let told: Vec<String> = engines.iter().filter_map(told).collect();
    if told.is_empty() {
        return "Nothing can be compared: too little was measured.".to_owned();
    }
    format!("The best-fitting Zipf load is off by up to {}.", told.join(", by up to "))
}

#[cfg(test)]
#[path = "real_vs_synthetic_tests.rs"]
mod tests;
