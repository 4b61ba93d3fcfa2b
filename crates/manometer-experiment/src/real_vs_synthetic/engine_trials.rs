//! The replays on engines: every load on every cache, repeat by repeat.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use manometer_analysis::real_vs_synthetic::{CacheReplay, ONE_SIZE, SPREAD_SIZES};
use manometer_measure::directory::remove_file;

use super::cache::Footprint;
use super::error::RealVsSyntheticError;
use super::load::{LoadChoice, LoadKind, LoadMaker};
use super::progress::ComparisonProgress;
use super::recorded_trace::{Key, RecordedTrace};
use super::replaying::{self, CacheTrial};
use super::slabs::SlabSpread;
use crate::file::RealVsSynthetic;

/// The engine with slab classes.
const WITH_SLABS: &str = "memcached";

/// An engine, its version, and the memory of all keys in it.
#[derive(Debug)]
pub(super) struct CacheEngine {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) footprint: Footprint,
}

/// What is replayed.
#[derive(Debug, Clone, Copy)]
pub(super) struct EnginePlan<'a> {
    pub(super) settings: &'a RealVsSynthetic,
    pub(super) recorded: &'a RecordedTrace,
    pub(super) engines: &'a [CacheEngine],
    pub(super) loads: &'a [LoadChoice],
    pub(super) spread: Option<&'a SlabSpread>,
    /// Where loads and servers have their files.
    pub(super) folder: &'a Path,
}

impl EnginePlan<'_> {
    /// The number of replays.
    pub(super) fn replays(&self) -> usize {
        self.trials(1).len() * self.settings.repeats as usize
    }

    /// Replays, until a replay fails or the user interrupts. Each repeat draws its loads anew, so that the spread over
    /// repeats contains that of the draws.
    pub(super) fn run(
        &self,
        interrupted: &AtomicBool,
        watch: &mut dyn FnMut(ComparisonProgress<'_>),
    ) -> (Vec<CacheReplay>, Option<RealVsSyntheticError>) {
        let mut replays = Vec::new();
        let total = self.replays() as u32;
        let mut number = 0;
        for repeat in 1..=self.settings.repeats {
            let trials = self.trials(repeat);
            if trials.is_empty() {
                break;
            }
            if let Err(error) = self.write_loads(repeat) {
                return (replays, Some(error));
            }
            for trial in trials {
                if interrupted.load(Ordering::Relaxed) {
                    return (replays, None);
                }
                number += 1;
                let (engine, load, cache_bytes) = (&*trial.engine, &*trial.load, trial.cache_bytes);
                watch(ComparisonProgress::ReplayStarted { number, total, engine, load, cache_bytes, repeat });
                match replaying::run(&trial, self.folder, interrupted) {
                    Ok(replay) => replays.extend(replay),
                    Err(error) => return (replays, Some(error)),
                }
            }
        }
        (replays, None)
    }

    fn path_of(&self, load: &str) -> PathBuf {
        self.folder.join(format!("{}.parquet", load.replace([' ', ','], "-")))
    }

    fn seed(&self, repeat: u32) -> u64 {
        self.settings.seed.wrapping_add(u64::from(repeat - 1))
    }

    /// The replays of a repeat: all loads on a cache one after the other, so that drift affects them alike.
    fn trials(&self, repeat: u32) -> Vec<CacheTrial> {
        let trial = |engine: &str, load: &str, cache, cache_bytes| CacheTrial {
            engine: engine.to_owned(),
            load: load.to_owned(),
            trace: self.path_of(load),
            cache,
            cache_bytes,
            repeat,
            threads: self.settings.threads,
            seed: self.seed(repeat),
        };
        let mut trials = Vec::new();
        for CacheEngine { name, footprint, .. } in self.engines {
            for cache in &self.settings.caches {
                let bytes = footprint.memory_bytes(name, *cache);
                trials.extend(self.loads.iter().map(|load| trial(name, &load.name(), *cache, bytes)));
            }
        }
        if let Some((table, spread)) = self.settings.slabs.as_ref().zip(self.spread) {
            let all = spread.value_bytes_mean * self.recorded.keys.len() as u64;
            let cache = table.memory.0 as f64 / all.max(1) as f64;
            trials.extend([SPREAD_SIZES, ONE_SIZE].map(|load| trial(WITH_SLABS, load, cache, table.memory.0)));
        }
        trials
    }

    /// Writes the loads of a repeat as traces; those that do not depend on chance are written once.
    fn write_loads(&self, repeat: u32) -> Result<(), RealVsSyntheticError> {
        let mean = self.recorded.value_bytes_mean();
        let mut made = LoadMaker::new(|kind: LoadKind| kind.make(self.recorded, self.seed(repeat)));
        for choice in self.loads.iter().filter(|choice| repeat == 1 || choice.kind != LoadKind::Trace) {
            let load = made.load(choice.kind);
            let sized = |key: Key| if choice.one_size { Key { value_bytes: mean, ..key } } else { key };
            let requests = load.requests.iter().map(|one| (sized(load.key(one.key, self.recorded)), one.operation));
            let path = self.path_of(&choice.name());
            if repeat > 1 {
                remove_file(&path).map_err(|source| RealVsSyntheticError::Io { path: path.clone(), source })?;
            }
            replaying::write(&path, requests)?;
        }
        let Some(spread) = self.spread.filter(|_| repeat == 1) else { return Ok(()) };
        let requests = || self.recorded.requests.iter();
        let key = |index: u32| self.recorded.keys[index as usize];
        let with_spread_value = |index: u32| {
            let key = key(index);
            Key { value_bytes: spread.value_bytes(index as usize, &key), ..key }
        };
        let with_mean_value = |index: u32| Key { value_bytes: spread.value_bytes_mean, ..key(index) };
        replaying::write(
            &self.path_of(SPREAD_SIZES),
            requests().map(|one| (with_spread_value(one.key), one.operation)),
        )?;
        replaying::write(&self.path_of(ONE_SIZE), requests().map(|one| (with_mean_value(one.key), one.operation)))
    }
}
