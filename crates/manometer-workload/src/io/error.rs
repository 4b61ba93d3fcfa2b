//! Errors of an `io` workload.

use std::io;
use std::path::PathBuf;

use manometer_target::file::FileError;

use crate::error::WorkloadError;
use crate::replay::ReplayError;
use crate::script::ScriptError;
use crate::setting_error::SettingError;

/// Why an `io` workload failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IoError {
    /// A setting is invalid.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The recorded trace cannot be replayed with these settings.
    #[error(transparent)]
    Trace(#[from] ReplayError),
    /// The timetable is invalid.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// A file could not be created or opened.
    #[error(transparent)]
    File(#[from] FileError),
    /// The files would be in memory.
    #[error("{0} is on a file system in memory, which says nothing about a device: name a directory on a disk")]
    Memory(PathBuf),
    /// The device refused a request.
    #[error("{operation} of {length} bytes at byte {offset} of {path} failed: {source}")]
    Request {
        /// `read`, `write` or `fdatasync`.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// Where the request began.
        offset: u64,
        /// Its length in bytes.
        length: u32,
        /// The kernel's error.
        source: io::Error,
    },
    /// A request ended short repeatedly.
    #[error(
        "{operation} of {length} bytes at byte {offset} of {path} ends after {done} bytes on every \
         retry: was the file truncated while the workload ran?"
    )]
    Short {
        /// `read` or `write`.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// Where the request began.
        offset: u64,
        /// Its length in bytes.
        length: u32,
        /// How many bytes came.
        done: u32,
    },
    /// Waiting for requests failed.
    #[error("{engine} cannot wait for requests: {source}")]
    Wait {
        /// The I/O engine.
        engine: manometer_target::file::IoEngine,
        /// The kernel's error.
        source: io::Error,
    },
}

impl IoError {
    /// Whether the request was invalid, rather than the run failed.
    pub fn is_wrong_request(&self) -> bool {
        match self {
            Self::Setting(_) | Self::Script(_) | Self::Trace(_) | Self::Memory(_) => true,
            Self::File(error) => error.is_wrong_request(),
            Self::Request { .. } | Self::Short { .. } | Self::Wait { .. } => false,
        }
    }

    /// The invalid setting; empty where none is.
    pub fn setting(&self) -> &str {
        match self {
            Self::Setting(error) => &error.name,
            Self::Script(_) => "script",
            Self::Trace(error) => error.setting(),
            _ => "",
        }
    }
}

impl From<IoError> for WorkloadError {
    fn from(error: IoError) -> Self {
        let is_wrong_request = error.is_wrong_request();
        Self::of_kind(error, is_wrong_request)
    }
}
