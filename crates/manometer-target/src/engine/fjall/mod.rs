//! fjall, through the crate of the same name.

mod options;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use fjall::{Database, Error as FjallError, Iter, Keyspace, LsmError, PersistMode, UserValue};
use manometer_measure::clock::MonotonicClock;
use manometer_measure::plan::Settings;
use manometer_measure::{Clock, Column};

use self::options::Config;
use super::{
    Capability, Engine, EngineError, EngineInfo, EngineSession, OpenRequest, ScanDirection, ScanVisitor, SortedRecords,
    StateColumn, StateSampler, StorageKind, columns, space,
};

const ENGINE: &str = "fjall";
const KEYSPACE: &str = "records";

/// fjall stores the length of a key in two bytes and has no empty key; it panics on any other.
const KEY_BYTES_MAX: usize = u16::MAX as usize;

/// Records loaded between two polls for a stop.
const RECORDS_PER_LOOK: u32 = 10_000;

/// The columns of its state.
const STATE: &[StateColumn] = &[
    ("tables_bytes", "B", "Size of all tables."),
    ("tables", "files", "Tables of all levels."),
    ("level0_tables", "files", "Tables in level 0."),
    ("journals", "files", "Journals that are kept until their memtables are written."),
    ("memtable_bytes", "B", "Memtables, including those being written."),
    ("sealed_memtables", "memtables", "Memtables that wait to be written."),
    ("pending_flushes", "flushes", "Flushes that wait or run."),
    ("running_compactions", "compactions", "Running compactions."),
    ("block_cache_bytes", "B", "Blocks in the cache."),
];

pub(super) const INFO: EngineInfo = EngineInfo {
    name: ENGINE,
    about: "log-structured merge tree written in Rust, with lz4",
    version: || env!("FJALL_VERSION").to_owned(),
    capabilities: &[Capability::Scan, Capability::BulkLoad, Capability::State],
    durability: options::BUFFER,
    storage: StorageKind::Disk,
    key_bytes_max: Some(KEY_BYTES_MAX as u64),
    memtable_option: Some("max_memtable_size"),
    options: options::OPTIONS,
    state: STATE,
    immutable_files: &[],
    open: |request| Ok(Box::new(Fjall::open(request)?)),
    check_options: |options| Config::read(options).map(drop),
};

struct Fjall {
    keyspace: Keyspace,
    database: Database,
    config: Config,
    directory: PathBuf,
}

impl Fjall {
    fn open(request: &OpenRequest) -> Result<Self, EngineError> {
        let directory = request.directory.to_owned();
        let opened = |error| failure(request.directory, "opening the database", error);
        let config = Config::read(request.options)?;
        let database = config.open(&directory).map_err(opened)?;
        if database.keyspace_exists(KEYSPACE) {
            config.check_kept(&directory)?;
        } else {
            config.keep(&directory)?;
        }
        let keyspace = database.keyspace(KEYSPACE, || config.keyspace()).map_err(opened)?;
        Ok(Self { keyspace, database, config, directory })
    }

    fn failure(&self, doing: &'static str, error: FjallError) -> EngineError {
        failure(&self.directory, doing, error)
    }

    /// Persists the last write as far as the options require.
    fn persist(&self) -> fjall::Result<()> {
        match self.config.persist.after_write() {
            Some(mode) => self.database.persist(mode),
            None => Ok(()),
        }
    }
}

fn check_key<'a>(key: &'a [u8], doing: &'static str) -> Result<&'a [u8], EngineError> {
    if (1..=KEY_BYTES_MAX).contains(&key.len()) {
        return Ok(key);
    }
    let text = format!("a key of {} bytes; it takes 1 to {KEY_BYTES_MAX}", key.len());
    Err(EngineError::Failed { engine: ENGINE, doing, text })
}

impl Engine for Fjall {
    fn session(&self) -> Box<dyn EngineSession + '_> {
        Box::new(FjallSession { engine: self, found: None })
    }

    /// Tables are written directly into the tree, bypassing journal and memtables.
    fn load_sorted(&self, records: &mut dyn SortedRecords) -> Result<(), EngineError> {
        const DOING: &str = "loading";
        let failure = |error| self.failure(DOING, error);
        let mut ingestion = self.keyspace.start_ingestion().map_err(failure)?;
        let mut until_look = RECORDS_PER_LOOK;
        while let Some((key, value)) = records.next() {
            ingestion.write(check_key(key, DOING)?, value).map_err(failure)?;
            until_look -= 1;
            if until_look == 0 {
                until_look = RECORDS_PER_LOOK;
                if records.keep_going().is_break() {
                    break;
                }
            }
        }
        ingestion.finish().map_err(failure)
    }

    /// Flushes the memtable and waits for the flushes and compactions that follow. fjall does not report whether
    /// another compaction is about to start: it counts as idle once several polls found none.
    fn settle(&self) -> Result<(), EngineError> {
        const LOOK_NS: u64 = 20_000_000;
        const CALM_LOOKS: u32 = 5;
        let failure = |error| self.failure("waiting for compactions", error);
        self.database.persist(PersistMode::SyncAll).map_err(failure)?;
        self.keyspace.rotate_memtable().map_err(failure)?;
        let mut calm_looks = 0;
        while calm_looks < CALM_LOOKS {
            MonotonicClock.sleep(LOOK_NS);
            // After failed background work this fails too, so that no thread waits for ever.
            self.database.persist(PersistMode::Buffer).map_err(failure)?;
            calm_looks = if self.is_busy() { 0 } else { calm_looks + 1 };
        }
        Ok(())
    }

    fn state_sampler(&self) -> Box<dyn StateSampler + '_> {
        Box::new(FjallState(self))
    }

    fn facts(&self) -> Settings {
        let mut facts = Settings::new();
        facts.insert("options".to_owned(), self.config.in_force(self.database.cache_capacity()));
        facts.insert("durability".to_owned(), self.config.persist.durability().into());
        facts
    }
}

impl Fjall {
    fn is_busy(&self) -> bool {
        self.database.outstanding_flushes() > 0
            || self.keyspace.sealed_memtable_count() > 0
            || self.database.active_compactions() > 0
    }
}

struct FjallSession<'a> {
    engine: &'a Fjall,
    found: Option<UserValue>,
}

impl FjallSession<'_> {
    fn then_persist(&self, doing: &'static str, written: fjall::Result<()>) -> Result<(), EngineError> {
        written.and_then(|()| self.engine.persist()).map_err(|error| self.engine.failure(doing, error))
    }
}

impl EngineSession for FjallSession<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, EngineError> {
        const DOING: &str = "reading";
        let found = self.engine.keyspace.get(check_key(key, DOING)?);
        self.found = found.map_err(|error| self.engine.failure(DOING, error))?;
        Ok(self.found.as_deref())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        const DOING: &str = "writing";
        let written = self.engine.keyspace.insert(check_key(key, DOING)?, value);
        self.then_persist(DOING, written)
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), EngineError> {
        const DOING: &str = "deleting";
        let deleted = self.engine.keyspace.remove(check_key(key, DOING)?);
        self.then_persist(DOING, deleted)
    }

    fn scan(
        &mut self,
        start: Option<&[u8]>,
        direction: ScanDirection,
        visit: &mut ScanVisitor<'_>,
    ) -> Result<(), EngineError> {
        const DOING: &str = "scanning";
        let start = match (start, direction) {
            (None, _) | (Some([]), ScanDirection::Forward) => Bound::Unbounded,
            (Some([]), ScanDirection::Backward) => return Ok(()),
            (Some(start), _) => Bound::Included(check_key(start, DOING)?),
        };
        let records = match direction {
            ScanDirection::Forward => self.engine.keyspace.range::<&[u8], _>((start, Bound::Unbounded)),
            ScanDirection::Backward => self.engine.keyspace.range::<&[u8], _>((Bound::Unbounded, start)),
        };
        walk(records, direction, visit).map_err(|error| self.engine.failure(DOING, error))
    }
}

fn walk(mut records: Iter, direction: ScanDirection, visit: &mut ScanVisitor<'_>) -> fjall::Result<()> {
    let mut next = || match direction {
        ScanDirection::Forward => records.next(),
        ScanDirection::Backward => records.next_back(),
    };
    while let Some(record) = next() {
        let (key, value) = record.into_inner()?;
        if visit(&key, &value).is_break() {
            break;
        }
    }
    Ok(())
}

struct FjallState<'a>(&'a Fjall);

impl StateSampler for FjallState<'_> {
    fn columns(&self) -> Vec<Column> {
        columns(STATE)
    }

    fn sample(&mut self, _: &dyn Clock) -> BTreeMap<String, f64> {
        let (database, keyspace) = (&self.0.database, &self.0.keyspace);
        let row = [
            ("tables_bytes", keyspace.disk_space() as f64),
            ("tables", keyspace.table_count() as f64),
            ("level0_tables", keyspace.l0_table_count() as f64),
            ("journals", database.journal_count() as f64),
            ("memtable_bytes", database.write_buffer_size() as f64),
            ("sealed_memtables", keyspace.sealed_memtable_count() as f64),
            ("pending_flushes", database.outstanding_flushes() as f64),
            ("running_compactions", database.active_compactions() as f64),
            ("block_cache_bytes", database.cache_size() as f64),
        ];
        row.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

fn failure(directory: &Path, doing: &'static str, error: FjallError) -> EngineError {
    let no_space = match &error {
        FjallError::Io(reason) | FjallError::Storage(LsmError::Io(reason)) => reason.kind() == ErrorKind::StorageFull,
        // Background work failed; fjall does not report the reason.
        FjallError::Poisoned => space::is_full(directory),
        FjallError::Locked => return EngineError::Locked(directory.to_owned()),
        _ => false,
    };
    if no_space {
        return EngineError::NoSpace { path: directory.to_owned(), doing };
    }
    EngineError::Failed { engine: ENGINE, doing, text: error.to_string() }
}
