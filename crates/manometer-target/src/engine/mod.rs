//! Key-value engines: one file each, and one line each in [`ENGINES`].
//!
//! An engine answers puts and gets and reports its own state. The workload decides which keys are requested and what
//! the values hold, except for the header that reveals a lost or wrong value ([`value`]).

mod command_reply;
pub mod directory;
mod error;
pub mod external;
pub mod hash_slot;
mod null;
pub mod open_loop;
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

pub use command_reply::CommandReply;
pub use error::EngineError;
pub use external::ExternalServer;
pub use open_loop::OpenLoop;
pub use state::StateColumn;

/// A description of an engine that is not open.
#[derive(Debug)]
pub struct EngineInfo {
    /// Its name in experiment files and on the command line.
    pub name: &'static str,
    /// A description for the user.
    pub about: &'static str,
    /// The version, as the library reports it.
    pub version: fn() -> String,
    /// Its capabilities beyond get, put, delete and load.
    pub capabilities: &'static [Capability],
    /// The durability of an answered put, with the engine's defaults.
    pub durability: &'static str,
    /// Where it stores the data.
    pub storage: StorageKind,
    /// The longest key in bytes; `None` if only memory limits it.
    pub key_bytes_max: Option<u64>,
    /// The option for the size of its memtable, if it has one.
    pub memtable_option: Option<&'static str>,
    /// Its options by name; empty if it has none, or takes the option names of its own library.
    pub options: &'static [EngineOption],
    /// The columns of its state; empty if it reports none.
    pub state: &'static [StateColumn],
    /// Suffixes of the files that are never changed once written, which a snapshot can hard-link.
    pub immutable_files: &'static [&'static str],
    /// Opens the engine.
    pub open: fn(&OpenRequest) -> Result<Box<dyn Engine>, EngineError>,
    /// Checks its options without opening it.
    pub check_options: fn(&EngineOptions) -> Result<(), EngineError>,
}

/// One option of an engine, as the manual lists it.
#[derive(Debug, Clone, Copy)]
pub struct EngineOption {
    /// Its name in an experiment file.
    pub name: &'static str,
    /// The valid values.
    pub values: &'static str,
    /// The default value.
    pub default: &'static str,
}

/// A capability of an engine beyond get, put, delete and load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    /// Scans in key order, in either direction.
    Scan,
    /// A native merge; other engines use a get and a put.
    Merge,
    /// A native request for many keys; other engines look them up one by one.
    MultiGet,
    /// Pipelining: many requests sent before the first answer; other engines answer one by one.
    Pipeline,
    /// Values that expire; other engines keep a value until it is replaced.
    TimeToLive,
    /// Recorded commands in Redis's protocol, as they are.
    Command,
    /// Requests that are sent without waiting for those before, on connections with any number of them in flight.
    OpenLoop,
    /// A native path for loading sorted records; other engines use puts.
    BulkLoad,
    /// A native options file.
    OptionsFile,
    /// A state that is sampled each interval.
    State,
}

/// Where an engine stores its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StorageKind {
    /// Nowhere: nothing is loaded.
    Nothing,
    /// In memory, lost on close: loaded for every run.
    Memory,
    /// In a separate directory, kept when it is closed.
    Disk,
}

/// Declares the engines' modules and [`ENGINES`], the registry of those in the build.
macro_rules! engines {
    ($($module:ident: $feature:literal;)+) => {
        $(#[cfg(feature = $feature)] mod $module;)+

        /// Every engine of this build, in the order of the manual.
        pub const ENGINES: &[EngineInfo] = &[$(#[cfg(feature = $feature)] $module::INFO,)+ null::INFO];
    };
}

// A new engine is a file or directory here, and a line with its module and its cargo feature.
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
/// No engine has this name; the error suggests the most similar one.
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
    /// Whether they name an external server, which holds the data instead of the database's directory.
    pub fn use_external_server(&self) -> bool {
        matches!(self, Self::Table(table) if table.contains_key("address"))
    }

    /// Whether they ask for a cluster of servers.
    pub fn use_cluster(&self) -> bool {
        let is_true = |value: &serde_json::Value| *value == true || *value == "true";
        matches!(self, Self::Table(table) if table.get("cluster").is_some_and(is_true))
    }
}

/// The parameters for opening an engine.
#[derive(Debug)]
pub struct OpenRequest<'a> {
    /// The database's directory; the engine writes nowhere else.
    pub directory: &'a Path,
    /// The engine's options.
    pub options: &'a EngineOptions,
    /// Length in bytes of the values that an engine without storage returns.
    pub value_bytes: usize,
}

/// An open engine.
pub trait Engine: Send + Sync {
    /// Opens one thread's session.
    fn session(&self) -> Box<dyn EngineSession + '_>;

    /// Loads records that arrive in key order, by the engine's fastest way.
    ///
    /// # Errors
    /// The engine cannot, no space is left, or a put failed.
    fn load_sorted(&self, records: &mut dyn SortedRecords) -> Result<(), EngineError>;

    /// Waits until all background work caused by loading has ended.
    ///
    /// # Errors
    /// Background work failed.
    fn settle(&self) -> Result<(), EngineError>;

    /// Checks for failed background work; called often while threads wait for the engine. On a failure it releases
    /// those threads with an error, even if the engine itself would retry.
    ///
    /// # Errors
    /// Background work failed.
    fn check_background(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// The external server that holds the data, if any.
    fn external_server(&self) -> Option<&dyn ExternalServer> {
        None
    }

    /// At most `connections` connections over which any number of requests can be in flight; `None` for an engine without
    /// [`Capability::OpenLoop`].
    fn open_loop(&self, connections: u32) -> Option<Result<Box<dyn OpenLoop + '_>, EngineError>> {
        let _ = connections;
        None
    }

    /// A sampler of the engine's state.
    fn state_sampler(&self) -> Box<dyn StateSampler + '_>;

    /// Facts for the recording: the relevant options, and the durability.
    fn facts(&self) -> Settings;
}

/// One thread's session of an engine.
pub trait EngineSession {
    /// The value of `key`, if it exists; valid until the next call.
    ///
    /// # Errors
    /// The engine failed.
    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, EngineError>;

    /// Sets the value of `key`.
    ///
    /// # Errors
    /// The engine failed.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError>;

    /// Sets the value of `key`, which expires `ttl_s` seconds later. An engine without [`Capability::TimeToLive`] keeps it
    /// until it is replaced.
    ///
    /// # Errors
    /// The engine failed.
    fn put_expiring(&mut self, key: &[u8], value: &[u8], ttl_s: u32) -> Result<(), EngineError> {
        let _ = ttl_s;
        self.put(key, value)
    }

    /// Sends a recorded command in Redis's protocol as it is; `key` is its first key. Requires [`Capability::Command`].
    ///
    /// # Errors
    /// The engine failed, refuses the command, or takes none.
    fn command(&mut self, key: &[u8], command: &[u8]) -> Result<CommandReply, EngineError> {
        let _ = (key, command);
        Err(EngineError::Unsupported { engine: "this engine", what: "take recorded commands" })
    }

    /// Deletes `key`; a missing key is no error.
    ///
    /// # Errors
    /// The engine failed.
    fn delete(&mut self, key: &[u8]) -> Result<(), EngineError>;

    /// Merges `operand` into the value of `key`; the last operand wins, as with db_bench's `put` operator. An engine
    /// without [`Capability::Merge`] reads the old value and writes the new one.
    ///
    /// # Errors
    /// The engine failed.
    fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<(), EngineError> {
        self.get(key)?;
        self.put(key, operand)
    }

    /// Looks up `keys` together. Calls `answer` once for each, in any order, with its index in `keys` and its value. An
    /// engine without [`Capability::MultiGet`] looks them up one by one.
    ///
    /// # Errors
    /// The engine failed; some keys may have been answered already.
    fn get_many(&mut self, keys: &[&[u8]], answer: &mut ReplyHandler<'_>) -> Result<(), EngineError> {
        for (place, key) in keys.iter().enumerate() {
            answer(place, self.get(key)?);
        }
        Ok(())
    }

    /// Sends `requests` without waiting for answers in between. Then calls `answer` once for each, in order, with its
    /// index and, for a get, its value. An engine without [`Capability::Pipeline`] answers one by one.
    ///
    /// # Errors
    /// The engine failed; some requests may have been answered already.
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

    /// Visits records in key order, bytewise, from `start` inclusive in `direction`, until `visit` breaks or no record
    /// is left. Without `start` it begins at the first or the last record. Concurrent puts may or may not be seen.
    /// Requires [`Capability::Scan`].
    ///
    /// # Errors
    /// The engine failed, or has no key order.
    fn scan(
        &mut self,
        start: Option<&[u8]>,
        direction: ScanDirection,
        visit: &mut ScanVisitor<'_>,
    ) -> Result<(), EngineError>;
}

/// Receives one record of a scan, and decides whether to continue.
pub type ScanVisitor<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// Receives the answer of one request of many: its index, and the value found.
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

/// The direction of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanDirection {
    /// Towards higher keys.
    Forward,
    /// Towards lower keys.
    Backward,
}

/// Records in key order, each key once.
pub trait SortedRecords {
    /// The next record, as key and value.
    fn next(&mut self) -> Option<(&[u8], &[u8])>;

    /// Called between records at intervals; breaks if loading is to stop.
    fn keep_going(&mut self) -> ControlFlow<()>;
}

/// Samples an engine's own state.
pub trait StateSampler: Send {
    /// The columns, fixed at the first sample.
    fn columns(&self) -> Vec<Column>;

    /// The current state. Values that the engine does not report are missing, as are rates in the first sample. A rate
    /// is the growth over the time between two answers, by `clock`: an engine may answer late.
    fn sample(&mut self, clock: &dyn Clock) -> BTreeMap<String, f64>;
}

impl EngineInfo {
    /// The meaning of the state column `name`; `None` if there is no such column.
    pub fn column_meaning(&self, name: &str) -> Option<&'static str> {
        state::meaning(self.state, name)
    }

    /// Whether the engine never changes the file `name` once written.
    pub fn is_immutable(&self, name: &str) -> bool {
        self.immutable_files.iter().any(|end| name.ends_with(end))
    }
}

/// The columns of a state whose names contain no number.
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
