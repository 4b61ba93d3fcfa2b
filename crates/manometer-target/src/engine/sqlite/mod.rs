//! SQLite, through the `rusqlite` crate with its bundled library.
//!
//! One table `WITHOUT ROWID`, so that a record is stored in the B-tree of its key. Every session has its own connection
//! with prepared statements; every request is its own transaction.

mod options;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use manometer_measure::plan::Settings;
use manometer_measure::{Clock, Column};
use rusqlite::{CachedStatement, Connection, Error as SqliteError, ErrorCode};

use self::options::{Config, pragma};
use super::{
    Capability, Engine, EngineError, EngineInfo, EngineSession, OpenRequest, ScanDirection, ScanVisitor, SortedRecords,
    StateColumn, StateSampler, StorageKind, columns, space,
};

const ENGINE: &str = "sqlite";
const FILE: &str = "records.sqlite";
const WAL: &str = "records.sqlite-wal";

const TABLE: &str = "CREATE TABLE IF NOT EXISTS records (key BLOB NOT NULL PRIMARY KEY, value BLOB NOT NULL) \
                     WITHOUT ROWID";
const GET: &str = "SELECT value FROM records WHERE key = ?1";
const PUT: &str = "INSERT INTO records (key, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value";
const DELETE: &str = "DELETE FROM records WHERE key = ?1";
const FORWARD: &str = "SELECT key, value FROM records ORDER BY key";
const FORWARD_FROM: &str = "SELECT key, value FROM records WHERE key >= ?1 ORDER BY key";
const BACKWARD: &str = "SELECT key, value FROM records ORDER BY key DESC";
const BACKWARD_FROM: &str = "SELECT key, value FROM records WHERE key <= ?1 ORDER BY key DESC";

/// Records that one transaction loads, between two polls for a stop.
const RECORDS_PER_BATCH: u32 = 10_000;

/// The longest blob (`SQLITE_MAX_LENGTH`), in bytes.
const KEY_BYTES_MAX: u64 = 1_000_000_000;

/// The columns of its state.
const STATE: &[StateColumn] = &[
    ("page_count", "pages", "Pages of the database, free ones included."),
    ("freelist_count", "pages", "Free pages in it."),
    ("wal_bytes", "B", "Size of the write-ahead log."),
];

pub(super) const INFO: EngineInfo = EngineInfo {
    name: ENGINE,
    about: "SQL database: B-tree in one file with a write-ahead log, one writer at a time",
    version: || rusqlite::version().to_owned(),
    capabilities: &[Capability::Scan, Capability::State],
    durability: options::WAL_FULL,
    storage: StorageKind::Disk,
    key_bytes_max: Some(KEY_BYTES_MAX),
    memtable_option: None,
    options: options::OPTIONS,
    state: STATE,
    immutable_files: &[],
    open: |request| Ok(Box::new(Sqlite::open(request)?)),
    check_options: |options| Config::read(options).map(drop),
};

struct Sqlite {
    /// Keeps the database open between sessions: SQLite cleans up when the last connection closes.
    keeper: Mutex<Connection>,
    config: Config,
    directory: PathBuf,
}

impl Sqlite {
    fn open(request: &OpenRequest) -> Result<Self, EngineError> {
        let config = Config::read(request.options)?;
        let made = config.make(&request.directory.join(FILE)).and_then(|keeper| {
            keeper.execute_batch(TABLE)?;
            Ok(keeper)
        });
        let keeper = made.map_err(|error| failure(request.directory, "opening the database", &error))?;
        Ok(Self { keeper: Mutex::new(keeper), config, directory: request.directory.to_owned() })
    }

    fn connect(&self) -> Result<Connection, SqliteError> {
        self.config.connect(&self.directory.join(FILE))
    }

    fn failure(&self, doing: &'static str, error: &SqliteError) -> EngineError {
        failure(&self.directory, doing, error)
    }

    fn load(&self, records: &mut dyn SortedRecords) -> Result<(), SqliteError> {
        let mut connection = self.connect()?;
        loop {
            let transaction = connection.transaction()?;
            let more = load_batch(transaction.prepare_cached(PUT)?, records)?;
            transaction.commit()?;
            if !more || records.keep_going().is_break() {
                return Ok(());
            }
        }
    }
}

/// Loads the next records. Returns false when none was left.
fn load_batch(mut put: CachedStatement, records: &mut dyn SortedRecords) -> Result<bool, SqliteError> {
    for _ in 0..RECORDS_PER_BATCH {
        let Some((key, value)) = records.next() else { return Ok(false) };
        put.execute((key, value))?;
    }
    Ok(true)
}

impl Engine for Sqlite {
    fn session(&self) -> Box<dyn EngineSession + '_> {
        Box::new(SqliteSession { engine: self, connection: self.connect().ok(), value: Vec::new() })
    }

    fn load_sorted(&self, records: &mut dyn SortedRecords) -> Result<(), EngineError> {
        self.load(records).map_err(|error| self.failure("loading", &error))
    }

    /// Checkpoints the write-ahead log into the database.
    fn settle(&self) -> Result<(), EngineError> {
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        let done = keeper.pragma(None, "wal_checkpoint", "TRUNCATE", |_| Ok(()));
        done.map_err(|error| self.failure("writing a checkpoint", &error))
    }

    fn state_sampler(&self) -> Box<dyn StateSampler + '_> {
        Box::new(SqliteState { engine: self, connection: self.connect().ok() })
    }

    fn facts(&self) -> Settings {
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        let mut facts = Settings::new();
        facts.insert("options".to_owned(), self.config.in_force(&keeper));
        facts.insert("durability".to_owned(), self.config.durability().into());
        facts
    }
}

struct SqliteSession<'a> {
    engine: &'a Sqlite,
    /// `None` while it could not be opened; each request tries again and reports the error.
    connection: Option<Connection>,
    value: Vec<u8>,
}

fn connected<'c>(engine: &Sqlite, connection: &'c mut Option<Connection>) -> Result<&'c Connection, SqliteError> {
    match connection {
        Some(there) => Ok(there),
        missing => Ok(missing.insert(engine.connect()?)),
    }
}

impl SqliteSession<'_> {
    /// Copies the value: the statement that found it ends before the next request.
    fn find(&mut self, key: &[u8]) -> Result<bool, SqliteError> {
        let mut get = connected(self.engine, &mut self.connection)?.prepare_cached(GET)?;
        let mut rows = get.query([key])?;
        let Some(row) = rows.next()? else { return Ok(false) };
        self.value.clear();
        self.value.extend_from_slice(row.get_ref(0)?.as_blob()?);
        Ok(true)
    }

    fn walk(
        &mut self,
        start: Option<&[u8]>,
        direction: ScanDirection,
        visit: &mut ScanVisitor<'_>,
    ) -> Result<(), SqliteError> {
        let connection = connected(self.engine, &mut self.connection)?;
        let mut select = connection.prepare_cached(match (direction, start) {
            (ScanDirection::Forward, None) => FORWARD,
            (ScanDirection::Forward, Some(_)) => FORWARD_FROM,
            (ScanDirection::Backward, None) => BACKWARD,
            (ScanDirection::Backward, Some(_)) => BACKWARD_FROM,
        })?;
        let mut rows = select.query(rusqlite::params_from_iter(start))?;
        while let Some(row) = rows.next()? {
            if visit(row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn write(&mut self, doing: &'static str, sql: &str, values: impl rusqlite::Params) -> Result<(), EngineError> {
        let connection = connected(self.engine, &mut self.connection);
        let written = connection.and_then(|connection| connection.prepare_cached(sql)?.execute(values));
        written.map(drop).map_err(|error| self.engine.failure(doing, &error))
    }
}

impl EngineSession for SqliteSession<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, EngineError> {
        let found = self.find(key).map_err(|error| self.engine.failure("reading", &error))?;
        Ok(found.then_some(self.value.as_slice()))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        self.write("writing", PUT, (key, value))
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), EngineError> {
        self.write("deleting", DELETE, [key])
    }

    fn scan(
        &mut self,
        start: Option<&[u8]>,
        direction: ScanDirection,
        visit: &mut ScanVisitor<'_>,
    ) -> Result<(), EngineError> {
        self.walk(start, direction, visit).map_err(|error| self.engine.failure("scanning", &error))
    }
}

struct SqliteState<'a> {
    engine: &'a Sqlite,
    connection: Option<Connection>,
}

impl StateSampler for SqliteState<'_> {
    fn columns(&self) -> Vec<Column> {
        columns(STATE)
    }

    fn sample(&mut self, _: &dyn Clock) -> BTreeMap<String, f64> {
        let count = |name| Some(pragma::<i64>(self.connection.as_ref()?, name)? as f64);
        let wal_bytes = fs::metadata(self.engine.directory.join(WAL)).map(|file| file.len() as f64);
        let row = [
            ("page_count", count("page_count")),
            ("freelist_count", count("freelist_count")),
            ("wal_bytes", wal_bytes.ok()),
        ];
        row.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

fn failure(directory: &Path, doing: &'static str, error: &SqliteError) -> EngineError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => EngineError::NoSpace { path: directory.to_owned(), doing },
        // Where its shared-memory file cannot grow, SQLite reports an I/O error only.
        Some(ErrorCode::SystemIoFailure) if space::is_full(directory) => {
            EngineError::NoSpace { path: directory.to_owned(), doing }
        }
        _ => EngineError::Failed { engine: ENGINE, doing, text: error.to_string() },
    }
}
