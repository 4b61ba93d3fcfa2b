//! What can go wrong with a file.

use std::io;
use std::path::{Path, PathBuf};

use manometer_measure::ByteSize;

use super::IoEngine;

/// Why a file could not be made, opened, read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file system is too full.
    #[error(
        "no space left for {path}: {wanted} wanted, {} free; make the file smaller or free space",
        free.map_or_else(|| "an unknown amount".to_owned(), |free| free.to_string())
    )]
    NoSpace {
        /// The file that was to be made.
        path: PathBuf,
        /// Its size.
        wanted: ByteSize,
        /// What the file system has left, where that is known.
        free: Option<ByteSize>,
    },
    /// A file of that name exists, and it may hold somebody's data.
    #[error("{0} exists and was not made by Manometer: name another file, or say that it may be overwritten")]
    ForeignFile(PathBuf),
    /// The name belongs to a directory, a device or another thing that is no regular file.
    #[error("{0} is no regular file: name a file, which is made when it does not exist")]
    NotRegularFile(PathBuf),
    /// A file that may only be read is shorter than the workload wants.
    #[error("{path} holds {got}, wanted are {wanted}: use a smaller file size, or name another file")]
    TooSmall {
        /// The file.
        path: PathBuf,
        /// Its size.
        got: ByteSize,
        /// The size that was requested.
        wanted: ByteSize,
    },
    /// Parts of a file that may only be read were never written: reading them would not reach the device.
    #[error("{path} has a hole at byte {offset}, which no read would fetch from the device: name a fully written file")]
    SparseFile {
        /// The file.
        path: PathBuf,
        /// Where the hole begins.
        offset: u64,
    },
    /// The file system does not know direct I/O.
    #[error("{0} cannot be opened for direct I/O: its file system does not support it; set direct=false")]
    DirectIoUnsupported(PathBuf),
    /// The host does not offer this way to reach the kernel.
    #[error("{engine} is not available here ({source}): {}", engine.remedy())]
    EngineUnavailable {
        /// The engine that was requested.
        engine: IoEngine,
        /// What the kernel said.
        source: io::Error,
    },
    /// The caller asked to stop.
    #[error("stopped while {0} was being made; it was removed")]
    Interrupted(PathBuf),
    /// Any other refusal of the operating system.
    #[error("cannot {operation} {path}: {source}")]
    System {
        /// What was tried, as a verb.
        operation: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

impl FileError {
    /// Whether another request, rather than another disk, would have succeeded.
    pub fn is_wrong_request(&self) -> bool {
        matches!(
            self,
            Self::ForeignFile(_)
                | Self::NotRegularFile(_)
                | Self::TooSmall { .. }
                | Self::SparseFile { .. }
                | Self::DirectIoUnsupported(_)
                | Self::EngineUnavailable { .. }
        )
    }

    /// For `map_err`: `operation` failed on `path`.
    pub(super) fn system<E: Into<io::Error>>(operation: &'static str, path: &Path) -> impl FnOnce(E) -> Self {
        move |source| Self::System { operation, path: path.to_owned(), source: source.into() }
    }
}
