//! Key-value engines: one file each, and one line each in [`ENGINES`].
//!
//! An engine answers puts and gets and reports its own state. Which keys are requested, and what lies in
//! the values, is the workload's matter, but for the header by which a lost or wrong value shows
//! ([`value`]).

pub mod directory;
mod error;
pub mod external;
pub mod hash_slot;
mod null;
#[cfg_attr(not(feature = "default"), allow(dead_code, reason = "a build without an engine leaves its options out"))]
mod options;
#[cfg_attr(not(feature = "default"), allow(dead_code, reason = "no engine of the build may need it"))]
mod rates;
#[cfg_attr(
    not(feature = "default"),
    allow(dead_code, unused_imports, reason = "a build may lack one of the servers, or all")
)]
mod server;
#[cfg_attr(not(feature = "default"), allow(dead_code, reason = "no engine of the build may need it"))]
mod space;
mod state;
pub mod value;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use manometer_measure::plan::Settings;
use manometer_measure::{Clock, Column};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use error::EngineError;
pub use external::ExternalServer;
pub use state::StateColumn;

/// What is known of an engine before it is opened.
#[derive(Debug)]
pub struct EngineInfo {
    /// Its name in experiment files and on the command line.
    pub name: &'static str,
    /// What it is, for people.
    pub about: &'static str,
    /// Its version, as the library itself reports it.
    pub version: fn() -> String,
    /// What it can do beyond get, put, delete and loading.
    pub abilities: &'static [Ability],
    /// What a put that was answered survives, with the engine's defaults.
    pub durability: &'static str,
    /// Where it keeps what is put.
    pub storage: Storage,
    /// The longest key that it takes, in bytes; nothing where memory alone sets a limit.
    pub key_bytes_max: Option<u64>,
    /// The option that sets the size of its memtable; nothing where it has none.
    pub memtable_option: Option<&'static str>,
    /// Its options by name; none where it has none, or takes the names of its own library.
    pub options: &'static [EngineOption],
    /// The columns of its state; none where it reports no state.
    pub state: &'static [StateColumn],
    /// How the names of those files end that it never changes once written: a snapshot links them.
    pub immutable_files: &'static [&'static str],
    /// Opens it.
    pub open: fn(&OpenRequest) -> Result<Box<dyn Engine>, EngineError>,
    /// Checks its options without opening anything.
    pub check_options: fn(&EngineOptions) -> Result<(), EngineError>,
}

/// One option of an engine, as the manual lists it.
#[derive(Debug, Clone, Copy)]
pub struct EngineOption {
    /// Its name in an experiment file.
    pub name: &'static str,
    /// The values that it takes.
    pub values: &'static str,
    /// The value in force where none is given.
    pub default: &'static str,
}

/// What an engine may do beyond get, put, delete and loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ability {
    /// Scans in the order of the keys, in either direction.
    Scan,
    /// A merge of its own; elsewhere a merge is a get and a put.
    Merge,
    /// Many keys in one request of its own; elsewhere one after the other.
    MultiGet,
    /// Many requests sent before the first answer; elsewhere one after the other.
    Pipeline,
    /// A loading path of its own for sorted records; elsewhere they are put.
    BulkLoad,
    /// An options file of its own.
    OptionsFile,
    /// A state that it reports each interval.
    State,
}

/// Where an engine keeps what is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// Nowhere: there is nothing to load.
    Nothing,
    /// In memory, gone when it is closed: loaded for every run.
    Memory,
    /// In a folder of its own, there again when it is opened again.
    Disk,
}

/// Declares the modules of the engines, and [`ENGINES`], the registry of those that the build has.
macro_rules! engines {
    ($($module:ident: $feature:literal;)+) => {
        $(#[cfg(feature = $feature)] mod $module;)+

        /// Every engine of this build, in the order of the manual.
        pub const ENGINES: &[EngineInfo] = &[$(#[cfg(feature = $feature)] $module::INFO,)+ null::INFO];
    };
}

// A new engine is a file or folder here, and a line with its module and its cargo feature.
engines! {
    rocksdb: "rocksdb";
    rlsm: "rlsm";
    fjall: "fjall";
    lmdb: "lmdb";
    redb: "redb";
    sqlite: "sqlite";
    redis: "redis";
    memcached: "memcached";
    map: "map";
}

/// The engine called `name`.
///
/// # Errors
/// There is none; the error names the nearest.
pub fn find(name: &str) -> Result<&'static EngineInfo, EngineError> {
    ENGINES.iter().find(|engine| engine.name == name).ok_or_else(|| EngineError::UnknownEngine {
        got: name.to_owned(),
        known: ENGINES.iter().map(|engine| engine.name).collect::<Vec<_>>().join(", "),
    })
}

/// An engine's options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum EngineOptions {
    /// The path of the engine's own options file.
    File(PathBuf),
    /// Options by name, as the engine spells them.
    Table(serde_json::Map<String, serde_json::Value>),
}

impl Default for EngineOptions {
    /// The engine's defaults.
    fn default() -> Self {
        Self::Table(serde_json::Map::new())
    }
}

impl EngineOptions {
    /// Whether they name a server that Manometer did not start: its data is there, not in the database's directory.
    pub fn use_external_server(&self) -> bool {
        matches!(self, Self::Table(table) if table.contains_key("address"))
    }
}

/// What an engine needs to open.
#[derive(Debug)]
pub struct OpenRequest<'a> {
    /// The folder of the database; the engine may write there and nowhere else.
    pub directory: &'a Path,
    /// The engine's options.
    pub options: &'a EngineOptions,
    /// How long the values are that an engine without memory answers with.
    pub value_bytes: usize,
}

/// An open engine.
pub trait Engine: Send + Sync {
    /// A thread's own access to it.
    fn session(&self) -> Box<dyn Session + '_>;

    /// Loads records that come in the order of their keys, the fastest way the engine has.
    ///
    /// # Errors
    /// The engine cannot, no space is left, or a put failed.
    fn load_sorted(&self, records: &mut dyn SortedRecords) -> Result<(), EngineError>;

    /// Waits until nothing that loading left is going on in the background.
    ///
    /// # Errors
    /// Background work failed.
    fn settle(&self) -> Result<(), EngineError>;

    /// ServerOptions often while others wait for the engine: has work in the background failed? Then those who
    /// wait are let go with an error, even where the engine itself would hope for better times.
    ///
    /// # Errors
    /// Background work failed.
    fn check_background(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// The server that is not ours, when the data lies in one.
    fn external_server(&self) -> Option<&dyn ExternalServer> {
        None
    }

    /// The state of the engine, once an interval.
    fn state_sampler(&self) -> Box<dyn StateSampler + '_>;

    /// What a reader must know of it: the options that matter, durability.
    fn facts(&self) -> Settings;
}

/// One thread's access to an engine.
pub trait Session {
    /// The value of `key`, if there is one; it stays until the next call.
    ///
    /// # Errors
    /// The engine failed.
    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, EngineError>;

    /// Makes `value` the value of `key`.
    ///
    /// # Errors
    /// The engine failed.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError>;

    /// Takes `key` and its value away; a key that is not there is no error.
    ///
    /// # Errors
    /// The engine failed.
    fn delete(&mut self, key: &[u8]) -> Result<(), EngineError>;

    /// Merges `operand` into the value of `key` by the rule that the last operand wins, db_bench's `put`
    /// operator. An engine without [`Ability::Merge`] reads the old value and writes the new one.
    ///
    /// # Errors
    /// The engine failed.
    fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<(), EngineError> {
        self.get(key)?;
        self.put(key, operand)
    }

    /// Looks `keys` up together and calls `answer` once for every one, with its place in `keys` and its
    /// value, in any order. An engine without [`Ability::MultiGet`] looks them up one after the other.
    ///
    /// # Errors
    /// The engine failed; some may have been answered already.
    fn get_many(&mut self, keys: &[&[u8]], answer: &mut ReplyHandler<'_>) -> Result<(), EngineError> {
        for (place, key) in keys.iter().enumerate() {
            answer(place, self.get(key)?);
        }
        Ok(())
    }

    /// Sends `requests` without waiting for answers in between, then calls `answer` once for every one, in
    /// order, with its place and, for a get, its value. An engine without [`Ability::Pipeline`] answers
    /// one after the other.
    ///
    /// # Errors
    /// The engine failed; some may have been answered already.
    fn pipeline(&mut self, requests: &[PipelinedRequest], answer: &mut ReplyHandler<'_>) -> Result<(), EngineError> {
        for (place, request) in requests.iter().enumerate() {
            match request {
                PipelinedRequest::Get { key } => answer(place, self.get(key)?),
                PipelinedRequest::Put { key, value } => {
                    self.put(key, value)?;
                    answer(place, None);
                }
            }
        }
        Ok(())
    }

    /// Walks over records in the order of their keys, as bytes, from `start` (itself included; from the
    /// first or last of all without it) in `direction`, until `visit` breaks or none is left. What is put
    /// while it walks may or may not be seen. Only with [`Ability::Scan`].
    ///
    /// # Errors
    /// The engine failed, or has no order.
    fn scan(
        &mut self,
        start: Option<&[u8]>,
        direction: ScanDirection,
        visit: &mut ScanVisitor<'_>,
    ) -> Result<(), EngineError>;
}

/// Takes one record of a scan, and says whether to go on.
pub type ScanVisitor<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// Takes the answer of one request among many: its place, and the value that was found.
pub type ReplyHandler<'a> = dyn FnMut(usize, Option<&[u8]>) + 'a;

/// One request of a pipeline.
#[derive(Debug, Clone, Copy)]
pub enum PipelinedRequest<'a> {
    /// A look-up.
    Get {
        /// The key.
        key: &'a [u8],
    },
    /// A write.
    Put {
        /// The key.
        key: &'a [u8],
        /// Its new value.
        value: &'a [u8],
    },
}

/// Which way a scan goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanDirection {
    /// Towards higher keys.
    Forward,
    /// Towards lower keys.
    Backward,
}

/// Records in the order of their keys, each key once.
pub trait SortedRecords {
    /// The next record, as key and value.
    fn next(&mut self) -> Option<(&[u8], &[u8])>;

    /// Called now and then between two records: shall loading go on?
    fn keep_going(&mut self) -> ControlFlow<()>;
}

/// An engine's own state, sampled.
pub trait StateSampler: Send {
    /// The columns, settled when the state is first looked at.
    fn columns(&self) -> Vec<Column>;

    /// The state now. What the engine does not report, and a rate at the first look, is missing. A rate is over the
    /// time between two answers, by `clock`: an engine may take long to answer.
    fn sample(&mut self, clock: &dyn Clock) -> BTreeMap<String, f64>;
}

impl EngineInfo {
    /// What the column `name` of its state means; nothing where it has no such column.
    pub fn column_meaning(&self, name: &str) -> Option<&'static str> {
        state::meaning(self.state, name)
    }

    /// Whether it never changes the file `name` once written.
    pub fn is_immutable(&self, name: &str) -> bool {
        self.immutable_files.iter().any(|end| name.ends_with(end))
    }
}

/// The columns of a state whose names hold no number.
#[cfg_attr(not(feature = "default"), allow(dead_code, reason = "no engine of the build may have a state"))]
fn columns(state: &[StateColumn]) -> Vec<Column> {
    let plain = state.iter().filter(|(name, ..)| !name.contains(state::NUMBER));
    plain.map(|(name, unit, _)| Column::new(*name, *unit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_found_by_name() {
        for engine in ENGINES {
            assert_eq!(find(engine.name).unwrap().name, engine.name);
            assert!(!(engine.version)().is_empty());
        }
        let error = find("rocksbd").unwrap_err().to_string();
        assert!(error.contains("null"), "{error}");
    }
}
