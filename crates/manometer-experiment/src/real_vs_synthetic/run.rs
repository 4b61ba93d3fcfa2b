//! Runs a comparison: every load on every cache, repeat by repeat.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use manometer_analysis::real_vs_synthetic::findings::{CACHES_TOO_SMALL, REPLAY_FAILED, TRACE_DAMAGED, findings};
use manometer_analysis::real_vs_synthetic::{
    self as results, CacheReplay, ComparedLoad, EngineResult, HotSpots, LoadComparison, ONE_SIZE, SPREAD_SIZES,
    SlabComparison, TRACE,
};
use manometer_measure::event::Finding;
use manometer_target::engine::hash_slot::{HASH_SLOTS, hash_slot};
use manometer_workload::replay::write_key;
use tempfile::TempDir;

use super::cache::{self, Footprint};
use super::error::RealVsSyntheticError;
use super::recorded_trace::{Key, RecordedTrace};
use super::replaying::{self, CacheTrial};
use super::slabs::SlabSpread;
use super::synthetic::{SyntheticKeys, SyntheticLoad, draw, key_of};
use crate::file::RealVsSynthetic;

/// The engine with slab classes.
const WITH_SLABS: &str = "memcached";
/// The number of loads: the trace and its synthetic loads.
const LOADS: u32 = 4;

/// Progress of a comparison, for a user interface.
#[derive(Debug)]
pub enum ComparisonProgress<'a> {
    /// The trace was read.
    TraceRead {
        /// The number of its requests.
        requests: usize,
        /// The number of its keys.
        keys: usize,
        /// The exponent of the fitted Zipf distribution.
        exponent: f64,
    },
    /// The memory of all keys in an engine was measured.
    Footprint {
        /// The engine.
        engine: &'a str,
        /// The memory.
        bytes: u64,
    },
    /// A replay starts.
    ReplayStarted {
        /// Its number, from 1.
        number: u32,
        /// The number of all replays.
        total: u32,
        /// The engine.
        engine: &'a str,
        /// The load.
        load: &'a str,
        /// The memory limit of the cache.
        cache_bytes: u64,
        /// The number of the repeat.
        repeat: u32,
    },
}

/// The number of replays of a comparison.
pub fn planned_replays(settings: &RealVsSynthetic) -> u32 {
    let curves = settings.engines.len() as u32 * settings.caches.len() as u32 * LOADS;
    let slabs = if settings.slabs.is_some() { 2 } else { 0 };
    settings.repeats * (curves + slabs)
}

/// Runs the comparison until it is complete or `interrupted`.
///
/// # Errors
/// The trace is not suitable, a server does not start, or nothing was measured before the interruption. A replay that fails
/// later is not an error: the comparison reports it, and holds what was measured before.
pub fn run(
    settings: &RealVsSynthetic,
    interrupted: &AtomicBool,
    watch: &mut dyn FnMut(ComparisonProgress<'_>),
) -> Result<LoadComparison, RealVsSyntheticError> {
    let recorded = RecordedTrace::read(settings)?;
    let zipf = recorded.fitted_zipf().ok_or_else(|| {
        let reason = "fewer than 20 of its keys are requested at least 10 times, which is too few to fit a Zipf \
                      distribution: use more of its requests, or choose another trace";
        RealVsSyntheticError::unsuitable(&settings.trace, reason)
    })?;
    watch(ComparisonProgress::TraceRead {
        requests: recorded.requests.len(),
        keys: recorded.keys.len(),
        exponent: zipf.exponent,
    });
    let folder = create_folder(&settings.directory)?;
    let distributions =
        [SyntheticKeys::Zipf(zipf.exponent), SyntheticKeys::Uniform, SyntheticKeys::Latest(zipf.exponent)];
    let synthetics = distributions.map(|one| (one, draw(one, &recorded, settings.seed)));
    let loads = describe_loads(&recorded, &synthetics);
    let spread = slab_spread(settings, &recorded)?;
    write_loads(folder.path(), &recorded, &synthetics, spread.as_ref())?;
    let mut footprints = Vec::new();
    for engine in &settings.engines {
        let directory = folder.path().join("footprint");
        let (footprint, version) = cache::measure_footprint(engine, &recorded.keys, settings.threads, &directory)?;
        watch(ComparisonProgress::Footprint { engine, bytes: footprint.keys_bytes() });
        footprints.push((engine.clone(), version, footprint));
    }
    let trials = trials(settings, folder.path(), &loads, &footprints, spread.as_ref(), &recorded);
    let (replays, failure) = replay_all(&trials, folder.path(), interrupted, watch);
    if replays.is_empty() {
        return Err(failure.unwrap_or(RealVsSyntheticError::Interrupted));
    }
    let engines: Vec<EngineResult> = footprints
        .iter()
        .map(|(engine, version, footprint)| {
            results::engine_result(engine, version, footprint.keys_bytes(), &settings.caches, &loads, &replays)
        })
        .collect();
    let mut all_findings = input_findings(&recorded, &footprints, settings);
    all_findings.extend(failure.as_ref().map(failure_finding));
    all_findings.extend(findings(&engines, &loads, &replays));
    let status = match failure {
        Some(_) => "failed",
        None if replays.len() < trials.len() => "interrupted",
        None => "complete",
    };
    Ok(LoadComparison {
        manometer: env!("CARGO_PKG_VERSION"),
        experiment: settings.name.clone(),
        status,
        headline: results::headline(&engines),
        zipf: serde_json::to_value(&zipf).unwrap_or_default(),
        hot_spots: Some(hot_spots(settings, &recorded, &synthetics, &engines)),
        slabs: spread.zip(settings.slabs.as_ref()).map(|(spread, table)| SlabComparison {
            classes: spread.classes(),
            value_bytes_mean: spread.value_bytes_mean,
            cache_bytes: table.memory.0,
            loads: results::slab_results(&replays),
        }),
        engine_spreads: results::engine_spreads(&engines),
        engines,
        loads,
        findings: all_findings,
        replays,
    })
}

/// Creates a temporary folder in the directory.
fn create_folder(directory: &Path) -> Result<TempDir, RealVsSyntheticError> {
    let failed = |source| RealVsSyntheticError::Io { path: directory.to_owned(), source };
    fs::create_dir_all(directory).map_err(failed)?;
    tempfile::Builder::new().prefix("real-vs-synthetic-").tempdir_in(directory).map_err(failed)
}

fn describe_loads(recorded: &RecordedTrace, synthetics: &[(SyntheticKeys, SyntheticLoad)]) -> Vec<ComparedLoad> {
    let requests = recorded.requests.len() as u64;
    let keys = recorded.keys.len() as u64;
    let trace = ComparedLoad { name: TRACE.to_owned(), requests, keys, drawn_from: None, exponent: None };
    let synthetic = |(distribution, drawn): &(SyntheticKeys, SyntheticLoad)| ComparedLoad {
        name: distribution.name().to_owned(),
        requests,
        keys: drawn.keys,
        drawn_from: Some(drawn.drawn_from),
        exponent: distribution.exponent(),
    };
    std::iter::once(trace).chain(synthetics.iter().map(synthetic)).collect()
}

/// The spread of values over slab classes, where the settings have one.
fn slab_spread(
    settings: &RealVsSynthetic,
    recorded: &RecordedTrace,
) -> Result<Option<SlabSpread>, RealVsSyntheticError> {
    let Some(table) = &settings.slabs else { return Ok(None) };
    let spread = SlabSpread::new(&recorded.keys, table.chunk_max.0);
    spread.map(Some).ok_or_else(|| {
        let reason = format!(
            "its longest key leaves no space for a value in chunks of up to {}: increase `slabs.chunk_max`",
            table.chunk_max
        );
        RealVsSyntheticError::unsuitable(&settings.trace, reason)
    })
}

fn path_of(folder: &Path, load: &str) -> PathBuf {
    folder.join(format!("{}.parquet", load.replace(' ', "-")))
}

/// Writes every load as a trace.
fn write_loads(
    folder: &Path,
    recorded: &RecordedTrace,
    synthetics: &[(SyntheticKeys, SyntheticLoad)],
    spread: Option<&SlabSpread>,
) -> Result<(), RealVsSyntheticError> {
    let requests = || recorded.requests.iter();
    let key = |index: u32| recorded.keys[index as usize];
    replaying::write(&path_of(folder, TRACE), requests().map(|one| (key(one.key), one.operation)))?;
    for (distribution, drawn) in synthetics {
        let drawn_requests = requests().zip(&drawn.picks).map(|(one, pick)| (key_of(*pick, recorded), one.operation));
        replaying::write(&path_of(folder, distribution.name()), drawn_requests)?;
    }
    let Some(spread) = spread else { return Ok(()) };
    let with_spread_value = |index: u32| {
        let key = key(index);
        Key { value_bytes: spread.value_bytes(index as usize, &key), ..key }
    };
    let with_mean_value = |index: u32| Key { value_bytes: spread.value_bytes_mean, ..key(index) };
    replaying::write(
        &path_of(folder, SPREAD_SIZES),
        requests().map(|one| (with_spread_value(one.key), one.operation)),
    )?;
    replaying::write(&path_of(folder, ONE_SIZE), requests().map(|one| (with_mean_value(one.key), one.operation)))
}

/// All replays in order: repeat by repeat, so that drift affects all loads alike, and all loads on a cache one after the
/// other.
fn trials(
    settings: &RealVsSynthetic,
    folder: &Path,
    loads: &[ComparedLoad],
    footprints: &[(String, String, Footprint)],
    spread: Option<&SlabSpread>,
    recorded: &RecordedTrace,
) -> Vec<CacheTrial> {
    let trial = |engine: &str, load: &str, cache, cache_bytes, repeat| CacheTrial {
        engine: engine.to_owned(),
        load: load.to_owned(),
        trace: path_of(folder, load),
        cache,
        cache_bytes,
        repeat,
        threads: settings.threads,
        seed: settings.seed.wrapping_add(u64::from(repeat)),
    };
    let mut trials = Vec::new();
    for repeat in 1..=settings.repeats {
        for (engine, _, footprint) in footprints {
            for cache in &settings.caches {
                let bytes = footprint.memory_bytes(engine, *cache);
                trials.extend(loads.iter().map(|load| trial(engine, &load.name, *cache, bytes, repeat)));
            }
        }
        if let Some((table, spread)) = settings.slabs.as_ref().zip(spread) {
            let all = spread.value_bytes_mean * recorded.keys.len() as u64;
            let cache = table.memory.0 as f64 / all.max(1) as f64;
            trials.extend([SPREAD_SIZES, ONE_SIZE].map(|load| trial(WITH_SLABS, load, cache, table.memory.0, repeat)));
        }
    }
    trials
}

/// Performs the replays one after the other, until one fails or the user interrupts.
fn replay_all(
    trials: &[CacheTrial],
    folder: &Path,
    interrupted: &AtomicBool,
    watch: &mut dyn FnMut(ComparisonProgress<'_>),
) -> (Vec<CacheReplay>, Option<RealVsSyntheticError>) {
    let mut replays = Vec::new();
    for (number, trial) in (1..).zip(trials) {
        if interrupted.load(Ordering::Relaxed) {
            break;
        }
        watch(ComparisonProgress::ReplayStarted {
            number,
            total: trials.len() as u32,
            engine: &trial.engine,
            load: &trial.load,
            cache_bytes: trial.cache_bytes,
            repeat: trial.repeat,
        });
        match replaying::run(trial, folder, interrupted) {
            Ok(replay) => replays.extend(replay),
            Err(error) => return (replays, Some(error)),
        }
    }
    (replays, None)
}

/// The distribution of each load's requests over the nodes of a cluster, at the throughput of the trace on the largest
/// cache.
fn hot_spots(
    settings: &RealVsSynthetic,
    recorded: &RecordedTrace,
    synthetics: &[(SyntheticKeys, SyntheticLoad)],
    engines: &[EngineResult],
) -> HotSpots {
    let largest = settings.caches.iter().copied().reduce(f64::max);
    let on_largest = |engine: &EngineResult| {
        let points = &engine.curves.first()?.points;
        points.iter().find(|point| Some(point.cache) == largest)?.ops_per_s.mean
    };
    let rate = engines.first().and_then(on_largest);
    let requests_per_s = rate.map_or(0, |rate| rate.round() as u64);
    let node_load = |load: &str, keys: &mut dyn Iterator<Item = Key>| {
        let mut text = Vec::new();
        let slots: Vec<u16> = keys
            .map(|key| {
                write_key(key.id, key.key_bytes, &mut text);
                hash_slot(&text)
            })
            .collect();
        results::node_load(load, &slots, HASH_SLOTS, settings.nodes, requests_per_s)
    };
    let mut loads = Vec::new();
    if requests_per_s > 0 {
        loads.push(node_load(TRACE, &mut recorded.requests.iter().map(|one| recorded.keys[one.key as usize])));
        for (distribution, drawn) in synthetics {
            loads.push(node_load(distribution.name(), &mut drawn.picks.iter().map(|pick| key_of(*pick, recorded))));
        }
    }
    let reason = match loads.first() {
        None => Some("the throughput is unknown: the trace was not replayed on the largest cache"),
        Some(load) if load.requests.is_none() => Some("the replay of the trace takes less than a second"),
        Some(_) => None,
    };
    HotSpots { nodes: settings.nodes, requests_per_s, loads, reason: reason.map(str::to_owned) }
}

/// What the person should know of the trace and of the caches.
fn input_findings(
    recorded: &RecordedTrace,
    footprints: &[(String, String, Footprint)],
    settings: &RealVsSynthetic,
) -> Vec<Finding> {
    let damage = recorded.damage.iter().map(|damage| TRACE_DAMAGED.finding(None, damage));
    let coarse = footprints.iter().filter_map(|(engine, _, footprint)| {
        let sizes: Vec<u64> = settings.caches.iter().map(|cache| footprint.memory_bytes(engine, *cache)).collect();
        let same = sizes.windows(2).filter(|pair| pair[0] == pair[1]).count();
        let sentence = format!(
            "The memory of {engine} is set in whole MiB, at least 2 MiB: {same} of the caches are no larger than the \
             previous one. All keys take {} bytes.",
            footprint.keys_bytes()
        );
        (same > 0).then(|| CACHES_TOO_SMALL.finding(None, &sentence))
    });
    damage.chain(coarse).collect()
}

fn failure_finding(error: &RealVsSyntheticError) -> Finding {
    let sentence = format!("{error}. The results contain only what was measured before.");
    REPLAY_FAILED.finding(None, &sentence)
}
