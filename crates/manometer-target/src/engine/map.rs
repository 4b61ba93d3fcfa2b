//! A concurrent hash map in memory: the upper bound of every engine that stores values.
//!
//! It measures the request generator, the pacing and one look-up in memory; an engine on a device can only be slower.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use manometer_measure::plan::Settings;
use manometer_measure::{Clock, Column};
use rapidhash::fast::RandomState;

use super::options::RawOptions;
use super::{
    Capability, Engine, EngineError, EngineInfo, EngineOptions, EngineSession, ScanDirection, ScanVisitor,
    SortedRecords, StateColumn, StateSampler, StorageKind, columns,
};

const ENGINE: &str = "map";

/// Enough shards for threads to contend rarely for one lock.
const SHARDS: usize = 1024;

/// Records loaded between two polls for a stop.
const RECORDS_PER_LOOK: u32 = 10_000;

/// The columns of its state.
const STATE: &[StateColumn] = &[("entries", "records", "Records in the map.")];

pub(super) const INFO: EngineInfo = EngineInfo {
    name: ENGINE,
    about: "concurrent hash map in memory: the upper bound of any engine",
    version: || env!("CARGO_PKG_VERSION").to_owned(),
    capabilities: &[Capability::State],
    durability: "none: in memory, gone with the process",
    storage: StorageKind::Memory,
    key_bytes_max: None,
    memtable_option: None,
    options: &[],
    state: STATE,
    immutable_files: &[],
    open: |request| {
        check(request.options)?;
        Ok(Box::new(ShardedMap::new()))
    },
    check_options: check,
};

fn check(options: &EngineOptions) -> Result<(), EngineError> {
    RawOptions::read(ENGINE, &[], options).map(drop)
}

type Shard = HashMap<Box<[u8]>, Box<[u8]>, RandomState>;

struct ShardedMap {
    hasher: RandomState,
    shards: Vec<RwLock<Shard>>,
}

impl ShardedMap {
    fn new() -> Self {
        Self { hasher: RandomState::new(), shards: (0..SHARDS).map(|_| RwLock::default()).collect() }
    }

    fn shard(&self, key: &[u8]) -> &RwLock<Shard> {
        // A shard's own table uses the lowest and the highest bits of the same hash.
        &self.shards[(self.hasher.hash_one(key) >> 32) as usize % SHARDS]
    }

    fn read(&self, key: &[u8]) -> RwLockReadGuard<'_, Shard> {
        self.shard(key).read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, key: &[u8]) -> RwLockWriteGuard<'_, Shard> {
        self.shard(key).write().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, key: &[u8], value: &[u8]) {
        let mut shard = self.write(key);
        match shard.get_mut(key) {
            Some(there) if there.len() == value.len() => there.copy_from_slice(value),
            Some(there) => *there = value.into(),
            None => drop(shard.insert(key.into(), value.into())),
        }
    }
}

impl Engine for ShardedMap {
    fn session(&self) -> Box<dyn EngineSession + '_> {
        Box::new(MapSession { map: self, value: Vec::new() })
    }

    fn load_sorted(&self, records: &mut dyn SortedRecords) -> Result<(), EngineError> {
        let mut until_look = RECORDS_PER_LOOK;
        while let Some((key, value)) = records.next() {
            self.put(key, value);
            until_look -= 1;
            if until_look == 0 {
                until_look = RECORDS_PER_LOOK;
                if records.keep_going().is_break() {
                    break;
                }
            }
        }
        Ok(())
    }

    fn settle(&self) -> Result<(), EngineError> {
        Ok(())
    }

    fn state_sampler(&self) -> Box<dyn StateSampler + '_> {
        Box::new(MapState(self))
    }

    fn facts(&self) -> Settings {
        let mut facts = Settings::new();
        facts.insert("durability".to_owned(), INFO.durability.into());
        facts
    }
}

/// Copies the value found: a lock held until the next call would block writers.
struct MapSession<'a> {
    map: &'a ShardedMap,
    value: Vec<u8>,
}

impl EngineSession for MapSession<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, EngineError> {
        let shard = self.map.read(key);
        let Some(found) = shard.get(key) else { return Ok(None) };
        self.value.clear();
        self.value.extend_from_slice(found);
        Ok(Some(&self.value))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        self.map.put(key, value);
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), EngineError> {
        self.map.write(key).remove(key);
        Ok(())
    }

    fn scan(&mut self, _: Option<&[u8]>, _: ScanDirection, _: &mut ScanVisitor<'_>) -> Result<(), EngineError> {
        Err(EngineError::Unsupported { engine: ENGINE, what: "scan: a hash map has no order" })
    }
}

struct MapState<'a>(&'a ShardedMap);

impl StateSampler for MapState<'_> {
    fn columns(&self) -> Vec<Column> {
        columns(STATE)
    }

    fn sample(&mut self, _: &dyn Clock) -> BTreeMap<String, f64> {
        let entries = |shard: &RwLock<Shard>| shard.read().unwrap_or_else(PoisonError::into_inner).len();
        let entries: usize = self.0.shards.iter().map(entries).sum();
        BTreeMap::from([("entries".to_owned(), entries as f64)])
    }
}
