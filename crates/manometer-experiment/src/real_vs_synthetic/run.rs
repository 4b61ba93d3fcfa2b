//! The whole of it: every load on every cache, repeat by repeat.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use manometer_analysis::real_vs_synthetic::findings::{CACHES_TOO_SMALL, REPLAY_FAILED, TRACE_DAMAGED, findings};
use manometer_analysis::real_vs_synthetic::{
    self as results, Comparison, EngineResult, FIXED, HotSpots, Load, Replay, SPREAD, Slabs, TRACE,
};
use manometer_measure::event::Finding;
use manometer_target::engine::slot::{SLOTS, slot};
use manometer_workload::replay::write_key;
use tempfile::TempDir;

use super::cache::{self, Footprint};
use super::error::RealVsSyntheticError;
use super::recorded::{Key, Recorded};
use super::replaying::{self, Trial};
use super::slabs::Spread;
use super::synthetic::{Law, Synthetic, draw, key_of};
use crate::file::RealVsSynthetic;

/// The engine whose slabs are compared.
const WITH_SLABS: &str = "memcached";
/// The trace and the synthetic loads of it.
const LOADS: u32 = 4;

/// What goes on, for whoever watches.
#[derive(Debug)]
pub enum Update<'a> {
    /// The trace was read.
    Read {
        /// Its requests.
        requests: usize,
        /// Its keys.
        keys: usize,
        /// The exponent that fits.
        exponent: f64,
    },
    /// What all keys take in an engine was measured.
    Footprint {
        /// The engine.
        engine: &'a str,
        /// How much.
        bytes: u64,
    },
    /// A replay begins.
    Begin {
        /// Which one, from 1.
        number: u32,
        /// Of how many.
        of: u32,
        /// The engine.
        engine: &'a str,
        /// The load.
        load: &'a str,
        /// The memory of the cache.
        cache_bytes: u64,
        /// Which repeat.
        repeat: u32,
    },
}

/// How many replays `settings` ask for.
pub fn replays_planned(settings: &RealVsSynthetic) -> u32 {
    let curves = settings.engines.len() as u32 * settings.caches.len() as u32 * LOADS;
    let slabs = if settings.slabs.is_some() { 2 } else { 0 };
    settings.repeats * (curves + slabs)
}

/// Replays all that `settings` ask for, as far as `interrupted` lets it.
///
/// # Errors
/// The trace does not serve, a server does not start, or it was ended before anything was measured. A replay that fails
/// later is no error here: the comparison says so, and holds what was measured before.
pub fn run(
    settings: &RealVsSynthetic,
    interrupted: &AtomicBool,
    watch: &mut dyn FnMut(Update<'_>),
) -> Result<Comparison, RealVsSyntheticError> {
    let recorded = Recorded::read(settings)?;
    let zipf = recorded.zipf().ok_or_else(|| {
        let reason = "fewer than 20 of its keys are requested 10 times or more, and Zipf's law is not fitted to \
                      fewer: take more of its requests, or choose another trace";
        RealVsSyntheticError::unfit(&settings.trace, reason)
    })?;
    watch(Update::Read { requests: recorded.requests.len(), keys: recorded.keys.len(), exponent: zipf.exponent });
    let folder = folder(&settings.directory)?;
    let laws = [Law::Zipf(zipf.exponent), Law::Uniform, Law::Latest(zipf.exponent)];
    let synthetics = laws.map(|law| (law, draw(law, &recorded, settings.seed)));
    let loads = loads(&recorded, &synthetics);
    let spread = spread(settings, &recorded)?;
    write_loads(folder.path(), &recorded, &synthetics, spread.as_ref())?;
    let mut footprints = Vec::new();
    for engine in &settings.engines {
        let place = folder.path().join("footprint");
        let (footprint, version) = cache::measure(engine, &recorded.keys, settings.threads, &place)?;
        watch(Update::Footprint { engine, bytes: footprint.keys_bytes() });
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
    let mut told = notes(&recorded, &footprints, settings);
    told.extend(failure.as_ref().map(failed));
    told.extend(findings(&engines, &loads, &replays));
    let status = match failure {
        Some(_) => "failed",
        None if replays.len() < trials.len() => "interrupted",
        None => "complete",
    };
    Ok(Comparison {
        manometer: env!("CARGO_PKG_VERSION"),
        experiment: settings.name.clone(),
        status,
        headline: results::headline(&engines),
        zipf: serde_json::to_value(&zipf).unwrap_or_default(),
        hot_spots: Some(hot_spots(settings, &recorded, &synthetics, &engines)),
        slabs: spread.zip(settings.slabs.as_ref()).map(|(spread, table)| Slabs {
            classes: spread.classes(),
            value_bytes_mean: spread.value_bytes_mean,
            cache_bytes: table.memory.0,
            loads: results::slab_loads(&replays),
        }),
        between_engines: results::between_engines(&engines),
        engines,
        loads,
        findings: told,
        replays,
    })
}

/// A folder of our own below the directory, gone when dropped.
fn folder(directory: &Path) -> Result<TempDir, RealVsSyntheticError> {
    let failed = |source| RealVsSyntheticError::Io { path: directory.to_owned(), source };
    fs::create_dir_all(directory).map_err(failed)?;
    tempfile::Builder::new().prefix("real-vs-synthetic-").tempdir_in(directory).map_err(failed)
}

fn loads(recorded: &Recorded, synthetics: &[(Law, Synthetic)]) -> Vec<Load> {
    let requests = recorded.requests.len() as u64;
    let keys = recorded.keys.len() as u64;
    let trace = Load { name: TRACE.to_owned(), requests, keys, drawn_from: None, exponent: None };
    let synthetic = |(law, drawn): &(Law, Synthetic)| Load {
        name: law.name().to_owned(),
        requests,
        keys: drawn.keys,
        drawn_from: Some(drawn.drawn_from),
        exponent: law.exponent(),
    };
    std::iter::once(trace).chain(synthetics.iter().map(synthetic)).collect()
}

/// How values are spread over slabs, where that is asked for.
fn spread(settings: &RealVsSynthetic, recorded: &Recorded) -> Result<Option<Spread>, RealVsSyntheticError> {
    let Some(table) = &settings.slabs else { return Ok(None) };
    let spread = Spread::over(&recorded.keys, table.chunk_max.0);
    spread.map(Some).ok_or_else(|| {
        let reason = format!(
            "its longest key leaves no room for a value in slabs of up to {}: write a larger `slabs.chunk_max`",
            table.chunk_max
        );
        RealVsSyntheticError::unfit(&settings.trace, reason)
    })
}

fn path_of(folder: &Path, load: &str) -> PathBuf {
    folder.join(format!("{}.parquet", load.replace(' ', "-")))
}

/// Writes every load where it is replayed from.
fn write_loads(
    folder: &Path,
    recorded: &Recorded,
    synthetics: &[(Law, Synthetic)],
    spread: Option<&Spread>,
) -> Result<(), RealVsSyntheticError> {
    let requests = || recorded.requests.iter();
    let own = |place: u32| recorded.keys[place as usize];
    replaying::write(&path_of(folder, TRACE), requests().map(|one| (own(one.key), one.operation)))?;
    for (law, drawn) in synthetics {
        let asked = requests().zip(&drawn.picks).map(|(one, pick)| (key_of(*pick, recorded), one.operation));
        replaying::write(&path_of(folder, law.name()), asked)?;
    }
    let Some(spread) = spread else { return Ok(()) };
    let spread_out = |place: u32| {
        let key = own(place);
        Key { value_bytes: spread.value_bytes(place as usize, &key), ..key }
    };
    let fixed = |place: u32| Key { value_bytes: spread.value_bytes_mean, ..own(place) };
    replaying::write(&path_of(folder, SPREAD), requests().map(|one| (spread_out(one.key), one.operation)))?;
    replaying::write(&path_of(folder, FIXED), requests().map(|one| (fixed(one.key), one.operation)))
}

/// Every replay in the order in which they are done: repeat by repeat, so that what drifts meets all alike, and loads of
/// one cache one after the other.
fn trials(
    settings: &RealVsSynthetic,
    folder: &Path,
    loads: &[Load],
    footprints: &[(String, String, Footprint)],
    spread: Option<&Spread>,
    recorded: &Recorded,
) -> Vec<Trial> {
    let trial = |engine: &str, load: &str, cache, cache_bytes, repeat| Trial {
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
            trials.extend([SPREAD, FIXED].map(|load| trial(WITH_SLABS, load, cache, table.memory.0, repeat)));
        }
    }
    trials
}

/// Replays one after the other, until one fails or somebody ends it.
fn replay_all(
    trials: &[Trial],
    folder: &Path,
    interrupted: &AtomicBool,
    watch: &mut dyn FnMut(Update<'_>),
) -> (Vec<Replay>, Option<RealVsSyntheticError>) {
    let mut replays = Vec::new();
    for (number, trial) in (1..).zip(trials) {
        if interrupted.load(Ordering::Relaxed) {
            break;
        }
        watch(Update::Begin {
            number,
            of: trials.len() as u32,
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

/// How the requests of each load fall on the nodes of a cluster, as fast as the trace was replayed on the largest cache.
fn hot_spots(
    settings: &RealVsSynthetic,
    recorded: &Recorded,
    synthetics: &[(Law, Synthetic)],
    engines: &[EngineResult],
) -> HotSpots {
    let largest = settings.caches.iter().copied().reduce(f64::max);
    let on_largest = |engine: &EngineResult| {
        let points = &engine.curves.first()?.points;
        points.iter().find(|point| Some(point.cache) == largest)?.ops_per_s.mean
    };
    let rate = engines.first().and_then(on_largest);
    let requests_per_s = rate.map_or(0, |rate| rate.round() as u64);
    let told = |load: &str, keys: &mut dyn Iterator<Item = Key>| {
        let mut text = Vec::new();
        let slots: Vec<u16> = keys
            .map(|key| {
                write_key(key.id, key.key_bytes, &mut text);
                slot(&text)
            })
            .collect();
        results::node_load(load, &slots, SLOTS, settings.nodes, requests_per_s)
    };
    let mut loads = Vec::new();
    if requests_per_s > 0 {
        loads.push(told(TRACE, &mut recorded.requests.iter().map(|one| recorded.keys[one.key as usize])));
        for (law, drawn) in synthetics {
            loads.push(told(law.name(), &mut drawn.picks.iter().map(|pick| key_of(*pick, recorded))));
        }
    }
    let reason = match loads.first() {
        None => Some("how many requests a second has is not known: the trace was not replayed on the largest cache"),
        Some(load) if load.requests.is_none() => Some("the trace takes less than a second at the speed it is replayed"),
        Some(_) => None,
    };
    HotSpots { nodes: settings.nodes, requests_per_s, loads, reason: reason.map(str::to_owned) }
}

/// What the person should know of the trace and of the caches.
fn notes(recorded: &Recorded, footprints: &[(String, String, Footprint)], settings: &RealVsSynthetic) -> Vec<Finding> {
    let damage = recorded.notes.iter().map(|note| TRACE_DAMAGED.tell(None, note));
    let coarse = footprints.iter().filter_map(|(engine, _, footprint)| {
        let sizes: Vec<u64> = settings.caches.iter().map(|cache| footprint.memory_bytes(engine, *cache)).collect();
        let same = sizes.windows(2).filter(|pair| pair[0] == pair[1]).count();
        let sentence = format!(
            "{engine} takes its memory in whole MiB, from 2 MiB on: {same} of the caches are no larger than the one \
             before. All keys take {} bytes there.",
            footprint.keys_bytes()
        );
        (same > 0).then(|| CACHES_TOO_SMALL.tell(None, &sentence))
    });
    damage.chain(coarse).collect()
}

fn failed(error: &RealVsSyntheticError) -> Finding {
    let sentence = format!("{error}. What was measured before is told; the rest is missing.");
    REPLAY_FAILED.tell(None, &sentence)
}
