//! rlsm, the engine of this workspace.

mod options;
mod state;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use manometer_measure::plan::Settings;
use rlsm::{Batch, Database, Error, Value};

use self::options::Config;
use self::state::RlsmState;
use super::{
    Capability, Engine, EngineError, EngineInfo, EngineSession, OpenRequest, ScanDirection, ScanVisitor, SortedRecords,
    StateSampler, StorageKind, space,
};

const ENGINE: &str = "rlsm";

/// Approximate size of a loading batch in bytes; each batch is synced.
const LOAD_BATCH_BYTES: u64 = 1 << 20;

pub(super) const INFO: EngineInfo = EngineInfo {
    name: ENGINE,
    about: "ranged log-structured merge tree of this workspace: appends by key range instead of rewriting",
    version: || env!("CARGO_PKG_VERSION").to_owned(),
    capabilities: &[Capability::Scan, Capability::State],
    durability: options::ALWAYS,
    storage: StorageKind::Disk,
    key_bytes_max: Some(u16::MAX as u64),
    memtable_option: Some(options::MEMTABLE),
    options: options::OPTIONS,
    state: state::STATE,
    immutable_files: &[],
    open: |request| Ok(Box::new(Rlsm::open(request)?)),
    check_options: |options| Config::read(options).map(drop),
};

struct Rlsm {
    database: Database,
    config: Config,
    directory: PathBuf,
}

impl Rlsm {
    fn open(request: &OpenRequest) -> Result<Self, EngineError> {
        let directory = request.directory.to_owned();
        let config = Config::read(request.options)?;
        let opened = config.options().open(&directory);
        let database = opened.map_err(|error| failure(&directory, "opening the database", &error))?;
        Ok(Self { database, config, directory })
    }

    fn failure(&self, doing: &'static str) -> impl Fn(Error) -> EngineError {
        move |error| failure(&self.directory, doing, &error)
    }
}

impl Engine for Rlsm {
    fn session(&self) -> Box<dyn EngineSession + '_> {
        Box::new(RlsmSession { engine: self, found: None })
    }

    /// Many records per batch, which share a sync.
    fn load_sorted(&self, records: &mut dyn SortedRecords) -> Result<(), EngineError> {
        const DOING: &str = "loading";
        let mut batch = Batch::new();
        while let Some((key, value)) = records.next() {
            batch.put(key, value).map_err(self.failure(DOING))?;
            if batch.user_bytes() >= LOAD_BATCH_BYTES {
                self.database.write(std::mem::take(&mut batch)).map_err(self.failure(DOING))?;
                if records.keep_going().is_break() {
                    return Ok(());
                }
            }
        }
        self.database.write(batch).map_err(self.failure(DOING))
    }

    fn settle(&self) -> Result<(), EngineError> {
        let settled = self.database.flush().and_then(|()| self.database.settle());
        settled.map_err(self.failure("waiting for compactions"))
    }

    /// An empty write returns the error of an earlier one.
    fn check_background(&self) -> Result<(), EngineError> {
        self.database.write(Batch::new()).map_err(self.failure("working in the background"))
    }

    fn state_sampler(&self) -> Box<dyn StateSampler + '_> {
        Box::new(RlsmState::new(&self.database))
    }

    fn facts(&self) -> Settings {
        let mut facts = Settings::new();
        facts.insert("options".to_owned(), self.config.in_force());
        facts.insert("durability".to_owned(), self.config.durability().into());
        facts
    }
}

struct RlsmSession<'a> {
    engine: &'a Rlsm,
    found: Option<Value>,
}

impl EngineSession for RlsmSession<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, EngineError> {
        self.found = self.engine.database.get(key).map_err(self.engine.failure("reading"))?;
        Ok(self.found.as_deref())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        self.engine.database.put(key, value).map_err(self.engine.failure("writing"))
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), EngineError> {
        self.engine.database.delete(key).map_err(self.engine.failure("deleting"))
    }

    fn scan(
        &mut self,
        start: Option<&[u8]>,
        direction: ScanDirection,
        visit: &mut ScanVisitor<'_>,
    ) -> Result<(), EngineError> {
        walk(&self.engine.database, start, direction, visit).map_err(self.engine.failure("scanning"))
    }
}

fn walk(
    database: &Database,
    start: Option<&[u8]>,
    direction: ScanDirection,
    visit: &mut ScanVisitor<'_>,
) -> rlsm::Result<()> {
    let mut records = database.range(..)?;
    match (start, direction) {
        (Some(start), ScanDirection::Forward) => records.seek(start)?,
        (Some(start), ScanDirection::Backward) => records.seek_for_previous(start)?,
        (None, ScanDirection::Forward) => records.seek_to_first()?,
        (None, ScanDirection::Backward) => records.seek_to_last()?,
    }
    while let Some((key, value)) = records.entry() {
        if visit(key, value).is_break() {
            break;
        }
        match direction {
            ScanDirection::Forward => records.forward()?,
            ScanDirection::Backward => records.backward()?,
        }
    }
    Ok(())
}

fn failure(directory: &Path, doing: &'static str, error: &Error) -> EngineError {
    let no_space = match error {
        Error::Io { source, .. } => source.kind() == ErrorKind::StorageFull,
        // The reason is text only.
        Error::Poisoned { .. } => space::is_full(directory),
        Error::Locked { .. } => return EngineError::Locked(directory.to_owned()),
        _ => false,
    };
    if no_space {
        return EngineError::NoSpace { path: directory.to_owned(), doing };
    }
    EngineError::Failed { engine: ENGINE, doing, text: error.to_string() }
}
