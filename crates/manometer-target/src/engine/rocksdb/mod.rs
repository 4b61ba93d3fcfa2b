//! RocksDB, through the `rocksdb` crate.

mod events;
mod load;
mod names;
mod options;
mod state;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use manometer_measure::plan::Settings;
use rocksdb::statistics::StatsLevel;
use rocksdb::{
    ColumnFamilyDescriptor, DB, DBPinnableSlice, DEFAULT_COLUMN_FAMILY_NAME, Env, ErrorKind, InfoLogger, LogLevel,
    Options as RocksOptions, ReadOptions, WaitForCompactOptions,
};
use serde_json::json;

use self::events::Background;
use self::options::{RawOption, Writes};
use self::writer::Writer;
use super::{
    Capability, Engine, EngineError, EngineInfo, EngineSession, OpenRequest, ReplyHandler, ScanDirection, ScanVisitor,
    SortedRecords, StateSampler, StorageKind, directory,
};

const ENGINE: &str = "rocksdb";
const BACKGROUND: &str = "flushing or compacting";
/// The name of the merge operator, which a database stores.
const LAST_OPERAND: &str = "manometer.last_operand";

/// RocksDB stores the length of a key in 32 bits.
const KEY_BYTES_MAX: u64 = u32::MAX as u64;

pub(super) const INFO: EngineInfo = EngineInfo {
    name: ENGINE,
    about: "log-structured merge tree of Meta; built from source with zstd and lz4",
    version,
    capabilities: &[
        Capability::Scan,
        Capability::Merge,
        Capability::MultiGet,
        Capability::BulkLoad,
        Capability::OptionsFile,
        Capability::State,
    ],
    durability: USUAL_DURABILITY,
    storage: StorageKind::Disk,
    key_bytes_max: Some(KEY_BYTES_MAX),
    memtable_option: Some("write_buffer_size"),
    options: &[],
    state: state::STATE,
    immutable_files: &[".sst", ".blob"],
    open: |request| Ok(Box::new(RocksDb::open(request)?)),
    check_options: |options| {
        let given = options::read(options)?;
        options::writes(&given)?;
        options::build(&given).map(drop)
    },
};

/// Options that affect what is measured; the recording lists them.
const REPORTED: [&str; 19] = [
    "block_cache",
    "block_size",
    "bottommost_compression",
    "compaction_style",
    "compression",
    "filter_policy",
    "level0_file_num_compaction_trigger",
    "level_compaction_dynamic_level_bytes",
    "manual_wal_flush",
    "max_background_jobs",
    "max_bytes_for_level_base",
    "max_bytes_for_level_multiplier",
    "max_open_files",
    "max_write_buffer_number",
    "num_levels",
    "target_file_size_base",
    "use_direct_io_for_flush_and_compaction",
    "use_direct_reads",
    "write_buffer_size",
];

/// The library's version. The binding has no call for it, but RocksDB logs it first when it opens a database; this one
/// lies in memory and touches no file. The binding makes its directory on disk: one that is always there.
fn version() -> String {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| version_from_log().unwrap_or_else(|| "unknown".to_owned())).clone()
}

fn version_from_log() -> Option<String> {
    let found = Arc::new(Mutex::new(None));
    let shared = Arc::clone(&found);
    let mut options = RocksOptions::default();
    options.create_if_missing(true);
    options.set_env(&Env::mem_env().ok()?);
    options.set_info_logger(InfoLogger::new_callback_logger(LogLevel::Info, move |_, line| {
        if let Some((_, version)) = line.split_once("RocksDB version: ") {
            let version = version.split_whitespace().next().map(str::to_owned);
            *shared.lock().unwrap_or_else(PoisonError::into_inner) = version;
        }
    }));
    drop(DB::open(&options, ".").ok()?);
    found.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// An open database.
struct RocksDb {
    db: DB,
    options: RocksOptions,
    given: Vec<RawOption>,
    writes: Writes,
    directory: PathBuf,
    background: Arc<Mutex<Background>>,
}

impl RocksDb {
    fn open(request: &OpenRequest) -> Result<Self, EngineError> {
        let given = options::read(request.options)?;
        let writes = options::writes(&given)?;
        let mut options = options::build(&given)?;
        options.create_if_missing(true);
        options
            .set_merge_operator_associative(LAST_OPERAND, |_, _, operands| operands.iter().last().map(<[u8]>::to_vec));
        options.enable_statistics();
        // The binding's numbers are one above the library's: this is the library's `kExceptTimers`, with histograms.
        options.set_statistics_level(StatsLevel::ExceptHistogramOrTimers);
        let log = request.directory.with_file_name(directory::LOG);
        let (logger, background) =
            events::logger(&log).map_err(|reason| EngineError::NotWritable { path: log, reason })?;
        options.set_info_logger(logger);
        // A column family opened by name has a handle, which multi-get needs.
        let family = ColumnFamilyDescriptor::new(DEFAULT_COLUMN_FAMILY_NAME, options.clone());
        let db = DB::open_cf_descriptors(&options, request.directory, [family])
            .map_err(|error| failure(request.directory, "opening the database", error))?;
        Ok(Self { db, options, given, writes, directory: request.directory.to_owned(), background })
    }

    fn failure(&self, doing: &'static str, error: rocksdb::Error) -> EngineError {
        self.failure_reported(doing, error.into_string())
    }

    fn failure_reported(&self, doing: &'static str, text: String) -> EngineError {
        // A released thread returns the background error, not the release.
        match self.background_error() {
            Some(text) => failure_text(&self.directory, BACKGROUND, text),
            None => failure_text(&self.directory, doing, text),
        }
    }

    fn background_error(&self) -> Option<String> {
        self.background.lock().unwrap_or_else(PoisonError::into_inner).error().map(str::to_owned)
    }

    /// The options in force, as the database's OPTIONS file states them.
    fn options_in_force(&self) -> Option<Vec<RawOption>> {
        let names = std::fs::read_dir(&self.directory).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        let is_options =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("OPTIONS-"));
        let newest = names.filter(is_options).max()?;
        options::from_file(&newest, &std::fs::read_to_string(&newest).ok()?).ok()
    }
}

impl Engine for RocksDb {
    fn session(&self) -> Box<dyn EngineSession + '_> {
        Box::new(RocksSession {
            engine: self,
            read_options: ReadOptions::default(),
            writer: Writer::new(&self.db, self.writes),
            found: None,
        })
    }

    fn load_sorted(&self, records: &mut dyn SortedRecords) -> Result<(), EngineError> {
        load::load_sorted(self, records)
    }

    fn settle(&self) -> Result<(), EngineError> {
        /// The interval between two polls for failed background work, in microseconds.
        const LOOK_US: u64 = 200_000;
        let mut wait = WaitForCompactOptions::default();
        wait.set_flush(true);
        wait.set_timeout(LOOK_US);
        loop {
            match self.db.wait_for_compact(&wait) {
                Err(error) if error.kind() == ErrorKind::TimedOut => self.check_background()?,
                other => return other.map_err(|error| self.failure("waiting for compactions", error)),
            }
        }
    }

    /// On a full disk RocksDB stalls writers until there is room again, possibly for ever. A measured run ends instead.
    fn check_background(&self) -> Result<(), EngineError> {
        let Some(text) = self.background_error() else { return Ok(()) };
        self.db.cancel_all_background_work(false);
        Err(failure_text(&self.directory, BACKGROUND, text))
    }

    fn state_sampler(&self) -> Box<dyn StateSampler + '_> {
        Box::new(state::RocksState::new(self))
    }

    fn facts(&self) -> Settings {
        let in_force = self.options_in_force().unwrap_or_default();
        let reported =
            REPORTED.iter().filter_map(|name| Some(((*name).to_owned(), json!(options::value_of(&in_force, name)?))));
        let mut facts = Settings::new();
        facts.insert("options".to_owned(), reported.collect::<Settings>().into());
        let buffered = options::value_of(&in_force, "manual_wal_flush") == Some("true");
        facts.insert("durability".to_owned(), json!(durability(self.writes, buffered)));
        facts
    }
}

const USUAL_DURABILITY: &str = "write-ahead log without sync: a put survives the process, not the host";

/// The durability of an answered put; `buffered` if the log stays in the process until it is flushed.
fn durability(writes: Writes, buffered: bool) -> &'static str {
    match writes {
        Writes { sync: true, .. } => "write-ahead log, synced before a put is answered: a put survives the host",
        Writes { without_log: true, .. } => "none: a put is in memory until its memtable is flushed",
        _ if buffered => "write-ahead log in the process's memory: a put may be lost with the process",
        _ => USUAL_DURABILITY,
    }
}

struct RocksSession<'a> {
    engine: &'a RocksDb,
    read_options: ReadOptions,
    writer: Writer<'a>,
    found: Option<DBPinnableSlice<'a>>,
}

impl EngineSession for RocksSession<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, EngineError> {
        // Releases the pin of the last value first, so that its memory is available for the next.
        self.found = None;
        let found = self.engine.db.get_pinned_opt(key, &self.read_options);
        self.found = found.map_err(|error| self.engine.failure("reading", error))?;
        Ok(self.found.as_deref())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        self.writer.put(key, value).map_err(|text| self.engine.failure_reported("writing", text))
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), EngineError> {
        self.writer.delete(key).map_err(|text| self.engine.failure_reported("deleting", text))
    }

    fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<(), EngineError> {
        self.writer.merge(key, operand).map_err(|text| self.engine.failure_reported("merging", text))
    }

    fn get_many(&mut self, keys: &[&[u8]], answer: &mut ReplyHandler<'_>) -> Result<(), EngineError> {
        const SORTED: bool = false;
        let family = self
            .engine
            .db
            .cf_handle(DEFAULT_COLUMN_FAMILY_NAME)
            .ok_or(EngineError::Unsupported { engine: ENGINE, what: "find its default column family" })?;
        let found = self.engine.db.batched_multi_get_cf_opt(&family, keys, SORTED, &self.read_options);
        for (place, found) in found.into_iter().enumerate() {
            answer(place, found.map_err(|error| self.engine.failure("reading", error))?.as_deref());
        }
        Ok(())
    }

    fn scan(
        &mut self,
        start: Option<&[u8]>,
        direction: ScanDirection,
        visit: &mut ScanVisitor<'_>,
    ) -> Result<(), EngineError> {
        let mut iterator = self.engine.db.raw_iterator();
        match (start, direction) {
            (Some(start), ScanDirection::Forward) => iterator.seek(start),
            (Some(start), ScanDirection::Backward) => iterator.seek_for_prev(start),
            (None, ScanDirection::Forward) => iterator.seek_to_first(),
            (None, ScanDirection::Backward) => iterator.seek_to_last(),
        }
        while let Some((key, value)) = iterator.item() {
            if visit(key, value).is_break() {
                return Ok(());
            }
            match direction {
                ScanDirection::Forward => iterator.next(),
                ScanDirection::Backward => iterator.prev(),
            }
        }
        iterator.status().map_err(|error| self.engine.failure("scanning", error))
    }
}

/// RocksDB reports errors as text; the two that a user can fix have their own variants.
fn failure(directory: &Path, doing: &'static str, error: rocksdb::Error) -> EngineError {
    failure_text(directory, doing, error.into_string())
}

fn failure_text(directory: &Path, doing: &'static str, text: String) -> EngineError {
    if text.contains("No space left on device") {
        return EngineError::NoSpace { path: directory.to_owned(), doing };
    }
    if text.contains("lock file") || text.contains("lock hold by current process") {
        return EngineError::Locked(directory.to_owned());
    }
    EngineError::Failed { engine: ENGINE, doing, text }
}

#[cfg(test)]
#[path = "../rocksdb_tests.rs"]
mod tests;
