//! redb, through the crate of the same name.
//!
//! Every put and delete is its own transaction; redb allows one writer at a time. Every get reads its own snapshot and
//! copies the value: a snapshot kept until the next request would stop redb from reusing freed pages while the client
//! pauses.

mod options;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use manometer_measure::plan::Settings;
use manometer_measure::{Clock, Column};
use redb::{
    Database, DatabaseError, Durability, Error as RedbError, ReadOnlyTable, ReadableDatabase as _,
    ReadableTableMetadata as _, Table, TableDefinition, TableError,
};

use self::options::{Config, DurabilityLevel};
use super::{
    Capability, Engine, EngineError, EngineInfo, EngineSession, OpenRequest, ScanDirection, ScanVisitor, SortedRecords,
    StateColumn, StateSampler, StorageKind, columns,
};

const ENGINE: &str = "redb";
const FILE: &str = "records.redb";
const RECORDS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("records");

/// Records that one transaction loads, between two polls for a stop.
const RECORDS_PER_BATCH: u32 = 10_000;

/// The longest key or value, in bytes.
const KEY_BYTES_MAX: u64 = 3 << 30;

/// The columns of its state.
const STATE: &[StateColumn] =
    &[("file_bytes", "B", "Size of the file."), ("entries", "records", "Records in the table.")];

pub(super) const INFO: EngineInfo = EngineInfo {
    name: ENGINE,
    about: "copy-on-write B-tree in one file, one writer at a time; written in Rust",
    version: || env!("REDB_VERSION").to_owned(),
    capabilities: &[Capability::Scan, Capability::State],
    durability: options::IMMEDIATE,
    storage: StorageKind::Disk,
    key_bytes_max: Some(KEY_BYTES_MAX),
    memtable_option: None,
    options: options::OPTIONS,
    state: STATE,
    immutable_files: &[],
    open: |request| Ok(Box::new(Redb::open(request)?)),
    check_options: |options| Config::read(options).map(drop),
};

struct Redb {
    database: Database,
    config: Config,
    file: PathBuf,
    /// Whether the device was full: from then on redb refuses every request without a reason.
    full: AtomicBool,
}

impl Redb {
    fn open(request: &OpenRequest) -> Result<Self, EngineError> {
        let config = Config::read(request.options)?;
        let file = request.directory.join(FILE);
        let mut builder = Database::builder();
        builder.set_cache_size(config.cache_size).set_check_integrity_on_open(config.check_integrity_on_open);
        let database = builder.create(&file).map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => EngineError::Locked(request.directory.to_owned()),
            other => failure(&file, "opening the database", other.into()),
        })?;
        let engine = Self { database, config, file, full: AtomicBool::new(false) };
        // Every later snapshot contains the table.
        engine.write(DurabilityLevel::Immediate, "opening the database", |_| Ok(()))?;
        Ok(engine)
    }

    fn failure(&self, doing: &'static str, error: RedbError) -> EngineError {
        let error = match error {
            RedbError::PreviousIo if self.full.load(Ordering::Relaxed) => {
                EngineError::NoSpace { path: self.file.clone(), doing }
            }
            other => failure(&self.file, doing, other),
        };
        if matches!(error, EngineError::NoSpace { .. }) {
            self.full.store(true, Ordering::Relaxed);
        }
        error
    }

    /// Runs `write` in one transaction.
    fn write<T>(
        &self,
        level: DurabilityLevel,
        doing: &'static str,
        write: impl FnOnce(&mut Records) -> Result<T, RedbError>,
    ) -> Result<T, EngineError> {
        self.transact(level, write).map_err(|error| self.failure(doing, error))
    }

    fn transact<T>(
        &self,
        level: DurabilityLevel,
        write: impl FnOnce(&mut Records) -> Result<T, RedbError>,
    ) -> Result<T, RedbError> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(match level {
            DurabilityLevel::Immediate => Durability::Immediate,
            DurabilityLevel::None => Durability::None,
        })?;
        transaction.set_two_phase_commit(self.config.two_phase_commit);
        transaction.set_quick_repair(self.config.quick_repair);
        let mut records = transaction.open_table(RECORDS)?;
        let written = write(&mut records)?;
        drop(records);
        transaction.commit()?;
        Ok(written)
    }

    /// A snapshot of the records.
    fn snapshot(&self) -> Result<ReadOnlyTable<&'static [u8], &'static [u8]>, RedbError> {
        let transaction = self.database.begin_read()?;
        transaction.open_table(RECORDS).map_err(TableError::into)
    }
}

type Records<'a> = Table<'a, &'static [u8], &'static [u8]>;

/// Loads the next records. Returns false when none was left.
fn load_batch(records: &mut Records, sorted: &mut dyn SortedRecords) -> Result<bool, RedbError> {
    for _ in 0..RECORDS_PER_BATCH {
        let Some((key, value)) = sorted.next() else { return Ok(false) };
        records.insert(key, value)?;
    }
    Ok(true)
}

impl Engine for Redb {
    fn session(&self) -> Box<dyn EngineSession + '_> {
        Box::new(RedbSession { engine: self, value: Vec::new() })
    }

    fn load_sorted(&self, records: &mut dyn SortedRecords) -> Result<(), EngineError> {
        while self.write(DurabilityLevel::Immediate, "loading", |database| load_batch(database, records))? {
            if records.keep_going().is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Commits once more with a sync, which also persists puts of durability `none`.
    fn settle(&self) -> Result<(), EngineError> {
        self.write(DurabilityLevel::Immediate, "syncing", |_| Ok(()))
    }

    fn state_sampler(&self) -> Box<dyn StateSampler + '_> {
        Box::new(RedbState(self))
    }

    fn facts(&self) -> Settings {
        let mut facts = Settings::new();
        facts.insert("options".to_owned(), self.config.in_force());
        facts.insert("durability".to_owned(), self.config.durability().into());
        facts
    }
}

struct RedbSession<'a> {
    engine: &'a Redb,
    value: Vec<u8>,
}

impl RedbSession<'_> {
    fn find(&mut self, key: &[u8]) -> Result<bool, RedbError> {
        // The guard of the value alone does not keep redb from freeing its page; the snapshot does.
        let records = self.engine.snapshot()?;
        let Some(found) = records.get(key)? else { return Ok(false) };
        self.value.clear();
        self.value.extend_from_slice(found.value());
        Ok(true)
    }
}

impl EngineSession for RedbSession<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, EngineError> {
        let found = self.find(key).map_err(|error| self.engine.failure("reading", error))?;
        Ok(found.then_some(self.value.as_slice()))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        self.engine.write(self.engine.config.durability, "writing", |records| {
            records.insert(key, value)?;
            Ok(())
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), EngineError> {
        self.engine.write(self.engine.config.durability, "deleting", |records| {
            records.remove(key)?;
            Ok(())
        })
    }

    fn scan(
        &mut self,
        start: Option<&[u8]>,
        direction: ScanDirection,
        visit: &mut ScanVisitor<'_>,
    ) -> Result<(), EngineError> {
        scan(self.engine, start, direction, visit).map_err(|error| self.engine.failure("scanning", error))
    }
}

fn scan(
    engine: &Redb,
    start: Option<&[u8]>,
    direction: ScanDirection,
    visit: &mut ScanVisitor<'_>,
) -> Result<(), RedbError> {
    let start = start.map_or(Bound::Unbounded, Bound::Included);
    let bounds = match direction {
        ScanDirection::Forward => (start, Bound::Unbounded),
        ScanDirection::Backward => (Bound::Unbounded, start),
    };
    let mut records = engine.snapshot()?.range::<&[u8]>(bounds)?;
    let mut next = || match direction {
        ScanDirection::Forward => records.next(),
        ScanDirection::Backward => records.next_back(),
    };
    while let Some(record) = next() {
        let (key, value) = record?;
        if visit(key.value(), value.value()).is_break() {
            break;
        }
    }
    Ok(())
}

/// redb counts its pages only by visiting all of them, which would disturb the measurement.
struct RedbState<'a>(&'a Redb);

impl StateSampler for RedbState<'_> {
    fn columns(&self) -> Vec<Column> {
        columns(STATE)
    }

    fn sample(&mut self, _: &dyn Clock) -> BTreeMap<String, f64> {
        let bytes = fs::metadata(&self.0.file).ok().map(|file| ("file_bytes", file.len() as f64));
        // The table's root holds its length.
        let entries = self.0.snapshot().ok().and_then(|records| Some(("entries", records.len().ok()? as f64)));
        bytes.into_iter().chain(entries).map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

fn failure(file: &Path, doing: &'static str, error: RedbError) -> EngineError {
    match error {
        RedbError::Io(reason) if reason.kind() == ErrorKind::StorageFull => {
            EngineError::NoSpace { path: file.to_owned(), doing }
        }
        other => EngineError::Failed { engine: ENGINE, doing, text: other.to_string() },
    }
}
