//! Why an `io` workload ended before it was told to.

use std::io;
use std::path::PathBuf;

use manometer_target::file::FileError;

use crate::replay::ReplayError;
use crate::script::ScriptError;
use crate::setting_error::SettingError;

/// Why an `io` workload ended before it was told to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IoError {
    /// The settings make no sense.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The recorded trace cannot be replayed as asked.
    #[error(transparent)]
    Trace(#[from] ReplayError),
    /// The timetable makes no sense.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// A file could not be made or opened.
    #[error(transparent)]
    File(#[from] FileError),
    /// The files would lie in memory.
    #[error("{0} lies on a file system made of memory, which says nothing about a device: name a directory on a disk")]
    Memory(PathBuf),
    /// The device, or what stands for it, refused a request.
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
        /// What the kernel said.
        source: io::Error,
    },
    /// A request ended short again and again.
    #[error(
        "{operation} of {length} bytes at byte {offset} of {path} ends after {done} bytes, however often it is \
         repeated: was the file cut while the workload ran?"
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
    /// The kernel takes no more requests, or does not let us wait for them.
    #[error("{engine} cannot wait for requests: {source}")]
    Wait {
        /// The I/O engine.
        engine: manometer_target::file::IoEngine,
        /// What the kernel said.
        source: io::Error,
    },
}

impl IoError {
    /// Whether another request would have been right, rather than another disk.
    pub fn is_wrong_request(&self) -> bool {
        match self {
            Self::Setting(_) | Self::Script(_) | Self::Trace(_) | Self::Memory(_) => true,
            Self::File(error) => error.is_wrong_request(),
            Self::Request { .. } | Self::Short { .. } | Self::Wait { .. } => false,
        }
    }

    /// The setting that is to blame; empty when none is.
    pub fn setting(&self) -> &str {
        match self {
            Self::Setting(error) => &error.name,
            Self::Script(_) => "script",
            Self::Trace(error) => error.setting(),
            _ => "",
        }
    }
}
