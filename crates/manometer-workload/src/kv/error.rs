//! Errors of a `kv` workload.

use manometer_measure::suggest::did_you_mean;
use manometer_target::engine::EngineError;
use manometer_target::engine::value::ValueError;

use crate::error::WorkloadError;

/// Why a `kv` workload cannot start or continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KvError {
    /// The engine, its options or its folder.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A workload that is neither built in nor a file.
    #[error(
        "there is no workload `{got}`: write ycsb-a to ycsb-f, the path of a YCSB properties file, or a benchmark of db_bench such as readrandom ({reason})"
    )]
    UnknownWorkload {
        /// The name as given.
        got: String,
        /// Why it is no file either.
        reason: String,
    },
    /// A workload that scans, on an engine without an order of keys.
    #[error("{workload} scans, but {engine} keeps no order of keys; {}", if .able.is_empty() { "no engine of this build does".to_owned() } else { format!("choose {}", .able) })]
    CannotScan {
        /// The workload.
        workload: String,
        /// The engine.
        engine: &'static str,
        /// The engines that can.
        able: String,
    },
    /// An invalid histogram of lengths.
    #[error("{place}: {reason}")]
    BadHistogram {
        /// File and line.
        place: String,
        /// What is wrong.
        reason: String,
    },
    /// A popularity that cannot be computed.
    #[error("the popularity of {records} records under `{distribution}` cannot be computed: {reason}")]
    PopularityUnavailable {
        /// The distribution.
        distribution: String,
        /// The number of records.
        records: u64,
        /// Why.
        reason: String,
    },
    /// A property that YCSB does not know.
    #[error("{place}: YCSB has no property `{name}`{}", did_you_mean(*similar))]
    UnknownProperty {
        /// File and line, or `properties`.
        place: String,
        /// The name as given.
        name: String,
        /// The most similar known name.
        similar: Option<&'static str>,
    },
    /// A parameter that db_bench's workloads do not have.
    #[error("no db_bench workload has a parameter `{name}`{}", did_you_mean(*similar))]
    UnknownParameter {
        /// The name as given.
        name: String,
        /// The most similar known name.
        similar: Option<&'static str>,
    },
    /// A property whose value is invalid or not supported.
    #[error("{place}: `{name}` = `{value}`: {wanted}")]
    BadProperty {
        /// File and line, or `properties`.
        place: String,
        /// The property.
        name: String,
        /// Its value as given.
        value: String,
        /// A valid value.
        wanted: String,
    },
    /// An invalid line of a properties file.
    #[error("{place}: expected `name=value`, found `{line}`")]
    BadLine {
        /// File and line.
        place: String,
        /// The line.
        line: String,
    },
    /// An invalid setting.
    #[error("`{name}` = {got}: {wanted}")]
    BadSetting {
        /// The setting.
        name: &'static str,
        /// Its value as given.
        got: String,
        /// A valid value.
        wanted: &'static str,
    },
    /// A table of rates that cannot be read.
    #[error("{place}: {reason}")]
    BadTable {
        /// File and line.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// An invalid timetable.
    #[error(transparent)]
    Script(#[from] crate::script::ScriptError),
    /// A written record is missing.
    #[error("{engine} lost record {record} (key `{key}`)")]
    Lost {
        /// The engine.
        engine: &'static str,
        /// The record's number.
        record: u64,
        /// Its key.
        key: String,
    },
    /// A key that was never written exists.
    #[error("{engine} found a value for key `{key}`, which was never written (record {record})")]
    Found {
        /// The engine.
        engine: &'static str,
        /// The record's number.
        record: u64,
        /// The key.
        key: String,
    },
    /// A record's value is not what was written.
    #[error("{engine} returned a wrong value for record {record} (key `{key}`): {fault}")]
    Wrong {
        /// The engine.
        engine: &'static str,
        /// The record's number.
        record: u64,
        /// Its key.
        key: String,
        /// What is wrong with it.
        fault: ValueError,
    },
    /// A thread cannot be pinned to its processor.
    #[error("thread {thread} cannot be pinned to a processor: {reason}")]
    Pin {
        /// The thread.
        thread: u32,
        /// Why.
        reason: std::io::Error,
    },
    /// A client thread panicked.
    #[error("a client thread panicked; this is a bug in Manometer; please report it")]
    Panicked,
}

impl KvError {
    /// Whether the request was wrong: the settings, or data that do not match them.
    pub fn is_wrong_request(&self) -> bool {
        match self {
            Self::Engine(error) => error.is_wrong_request(),
            other => !other.setting().is_empty(),
        }
    }

    /// The invalid setting; empty where none is.
    pub fn setting(&self) -> &str {
        match self {
            Self::BadSetting { name, .. } => name,
            Self::BadTable { .. } => "rate",
            Self::Script(_) => "script",
            Self::Engine(EngineError::UnknownEngine { .. }) => "engine",
            Self::Engine(_) => "options",
            Self::UnknownWorkload { .. }
            | Self::CannotScan { .. }
            | Self::BadHistogram { .. }
            | Self::PopularityUnavailable { .. }
            | Self::UnknownProperty { .. }
            | Self::UnknownParameter { .. }
            | Self::BadProperty { .. }
            | Self::BadLine { .. } => "workload",
            Self::Lost { .. } | Self::Found { .. } | Self::Wrong { .. } | Self::Pin { .. } | Self::Panicked => "",
        }
    }
}

impl From<KvError> for WorkloadError {
    fn from(error: KvError) -> Self {
        let is_wrong_request = error.is_wrong_request();
        Self::of_kind(error, is_wrong_request)
    }
}
