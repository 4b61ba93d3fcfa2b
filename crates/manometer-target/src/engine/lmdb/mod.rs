//! LMDB, through the `heed` crate.
//!
//! Every put and delete is its own transaction; LMDB allows one writer at a time. Every get reads its own snapshot and
//! copies the value: a snapshot kept until the next request would stop LMDB from reusing freed pages while the client
//! pauses, and pages of a value that are never touched would not be read.

mod options;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvOpenOptions, Error as HeedError, MdbError, PutFlags, RwTxn};
use manometer_measure::plan::Settings;
use manometer_measure::{Clock, Column};

use self::options::Config;
use super::{
    Capability, Engine, EngineError, EngineInfo, EngineSession, OpenRequest, ScanDirection, ScanVisitor, SortedRecords,
    StateColumn, StateSampler, StorageKind, columns, space,
};

const ENGINE: &str = "lmdb";

/// Records that one transaction loads, between two polls for a stop.
const RECORDS_PER_BATCH: u32 = 10_000;

/// The maximum key length that LMDB is built with (`MDB_MAXKEYSIZE`), in bytes.
const KEY_BYTES_MAX: u64 = 511;

/// The columns of its state.
const STATE: &[StateColumn] = &[
    ("entries", "records", "Records in the tree."),
    ("depth", "levels", "Height of the tree."),
    ("branch_pages", "pages", "Inner pages of the tree."),
    ("leaf_pages", "pages", "Leaves of the tree."),
    ("overflow_pages", "pages", "Pages of values that fit no leaf."),
    ("file_pages", "pages", "Pages of the file used so far, free ones included."),
    ("readers", "readers", "Slots of readers in use."),
];

pub(super) const INFO: EngineInfo = EngineInfo {
    name: ENGINE,
    about: "copy-on-write B+ tree in a memory map, one writer at a time",
    version: || {
        let version = heed::lmdb_version();
        format!("{}.{}.{}", version.major, version.minor, version.patch)
    },
    capabilities: &[Capability::Scan, Capability::BulkLoad, Capability::State],
    durability: options::FULL,
    storage: StorageKind::Disk,
    key_bytes_max: Some(KEY_BYTES_MAX),
    memtable_option: None,
    options: options::OPTIONS,
    state: STATE,
    immutable_files: &[],
    open: |request| Ok(Box::new(Lmdb::open(request)?)),
    check_options: |options| Config::read(options).map(drop),
};

type Records = Database<'static, Bytes, Bytes>;

struct Lmdb {
    env: Env,
    records: Records,
    config: Config,
    directory: PathBuf,
}

impl Lmdb {
    fn open(request: &OpenRequest) -> Result<Self, EngineError> {
        let config = Config::read(request.options)?;
        let mut options = EnvOpenOptions::new();
        options.map_size(config.map_bytes(request.directory)?).max_readers(config.max_readers);
        let opened = |error| failure(request.directory, "opening the database", error);
        // SAFETY: the flags weaken durability, which the recording states; none of them removes the locks.
        unsafe { options.flags(config.flags()) };
        // SAFETY: this run alone holds the directory, and only LMDB changes the mapped files in it.
        let env = unsafe { options.open(request.directory) }.map_err(opened)?;
        let records = open_records(&env).map_err(opened)?;
        Ok(Self { env, records, config, directory: request.directory.to_owned() })
    }

    fn failure(&self, doing: &'static str, error: HeedError) -> EngineError {
        failure(&self.directory, doing, error)
    }

    /// Runs `write` in one transaction.
    fn write<T>(
        &self,
        doing: &'static str,
        write: impl FnOnce(&Records, &mut RwTxn) -> Result<T, HeedError>,
    ) -> Result<T, EngineError> {
        let committed = self.env.write_txn().and_then(|mut transaction| {
            let written = write(&self.records, &mut transaction)?;
            transaction.commit()?;
            Ok(written)
        });
        committed.map_err(|error| self.failure(doing, error))
    }
}

fn open_records(env: &Env) -> Result<Records, HeedError> {
    let transaction = env.write_txn()?;
    let made = env.create_databases_and_commit(transaction, |opener, transaction| {
        opener.create_database::<Bytes, Bytes>(transaction, None).map(CommitOrAbort::<_, HeedError>::Commit)
    })?;
    match made {
        CommitOrAbort::Commit(records) => Ok(records),
        CommitOrAbort::Abort(error) => Err(error),
    }
}

/// Loads the next records in one transaction. Returns false when none was left.
fn load_batch(records: &Records, transaction: &mut RwTxn, sorted: &mut dyn SortedRecords) -> Result<bool, HeedError> {
    for _ in 0..RECORDS_PER_BATCH {
        let Some((key, value)) = sorted.next() else { return Ok(false) };
        match records.put_with_flags(transaction, PutFlags::APPEND, key, value) {
            // The database holds a higher key already, so the record cannot be appended.
            Err(HeedError::Mdb(MdbError::KeyExist)) => records.put(transaction, key, value)?,
            appended => appended?,
        }
    }
    Ok(true)
}

impl Engine for Lmdb {
    fn session(&self) -> Box<dyn EngineSession + '_> {
        Box::new(LmdbSession { engine: self, value: Vec::new() })
    }

    fn load_sorted(&self, records: &mut dyn SortedRecords) -> Result<(), EngineError> {
        while self.write("loading", |database, transaction| load_batch(database, transaction, records))? {
            if records.keep_going().is_break() {
                break;
            }
        }
        Ok(())
    }

    fn settle(&self) -> Result<(), EngineError> {
        self.env.force_sync().map_err(|error| self.failure("syncing", error))
    }

    fn state_sampler(&self) -> Box<dyn StateSampler + '_> {
        Box::new(LmdbState(self))
    }

    fn facts(&self) -> Settings {
        let mut facts = Settings::new();
        facts.insert("options".to_owned(), self.config.in_force(&self.env));
        facts.insert("durability".to_owned(), self.config.sync.durability().into());
        facts.insert("page_bytes".to_owned(), self.env.unnamed_database_stat().page_size.into());
        facts
    }
}

struct LmdbSession<'a> {
    engine: &'a Lmdb,
    value: Vec<u8>,
}

impl EngineSession for LmdbSession<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, EngineError> {
        let failure = |error| self.engine.failure("reading", error);
        // A thread keeps its slot in the reader table from one snapshot to the next.
        let snapshot = self.engine.env.read_txn().map_err(failure)?;
        let Some(found) = self.engine.records.get(&snapshot, key).map_err(failure)? else { return Ok(None) };
        self.value.clear();
        self.value.extend_from_slice(found);
        Ok(Some(&self.value))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        self.engine.write("writing", |records, transaction| records.put(transaction, key, value))
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), EngineError> {
        self.engine.write("deleting", |records, transaction| records.delete(transaction, key)).map(drop)
    }

    fn scan(
        &mut self,
        start: Option<&[u8]>,
        direction: ScanDirection,
        visit: &mut ScanVisitor<'_>,
    ) -> Result<(), EngineError> {
        let failure = |error| self.engine.failure("scanning", error);
        let (records, env) = (self.engine.records, &self.engine.env);
        let snapshot = env.read_txn().map_err(failure)?;
        let bound = match (start, direction) {
            // LMDB stores no empty key and does not accept one as a bound.
            (None, _) | (Some([]), ScanDirection::Forward) => Bound::Unbounded,
            (Some([]), ScanDirection::Backward) => return Ok(()),
            (Some(start), _) => Bound::Included(start),
        };
        match direction {
            ScanDirection::Forward => {
                walk(records.range(&snapshot, &(bound, Bound::Unbounded)).map_err(failure)?, visit)
            }
            ScanDirection::Backward => {
                walk(records.rev_range(&snapshot, &(Bound::Unbounded, bound)).map_err(failure)?, visit)
            }
        }
        .map_err(failure)
    }
}

fn walk<'a>(
    records: impl Iterator<Item = Result<(&'a [u8], &'a [u8]), HeedError>>,
    visit: &mut ScanVisitor<'_>,
) -> Result<(), HeedError> {
    for record in records {
        let (key, value) = record?;
        if visit(key, value).is_break() {
            break;
        }
    }
    Ok(())
}

struct LmdbState<'a>(&'a Lmdb);

impl StateSampler for LmdbState<'_> {
    fn columns(&self) -> Vec<Column> {
        columns(STATE)
    }

    fn sample(&mut self, _: &dyn Clock) -> BTreeMap<String, f64> {
        let (tree, file) = (self.0.env.unnamed_database_stat(), self.0.env.info());
        let row = [
            ("entries", tree.entries as f64),
            ("depth", f64::from(tree.depth)),
            ("branch_pages", tree.branch_pages as f64),
            ("leaf_pages", tree.leaf_pages as f64),
            ("overflow_pages", tree.overflow_pages as f64),
            ("file_pages", file.last_page_number as f64 + 1.0),
            ("readers", f64::from(file.number_of_readers)),
        ];
        row.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

fn failure(directory: &Path, doing: &'static str, error: HeedError) -> EngineError {
    let no_space = match &error {
        HeedError::Mdb(MdbError::MapFull) => true,
        HeedError::Io(reason) if reason.kind() == ErrorKind::StorageFull => true,
        // Where only part of a write fits, LMDB reports an I/O error only.
        HeedError::Io(_) => space::is_full(directory),
        HeedError::EnvAlreadyOpened => return EngineError::Locked(directory.to_owned()),
        _ => false,
    };
    if no_space {
        return EngineError::NoSpace { path: directory.to_owned(), doing };
    }
    EngineError::Failed { engine: ENGINE, doing, text: error.to_string() }
}
