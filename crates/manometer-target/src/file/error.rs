//! Errors of files.

use std::io;
use std::path::{Path, PathBuf};

use manometer_measure::ByteSize;

use super::IoEngine;

/// Why a file could not be created, opened, read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file system lacks space.
    #[error(
        "no space left for {path}: {wanted} needed, {} free; make the file smaller or free space",
        free.map_or_else(|| "an unknown amount".to_owned(), |free| free.to_string())
    )]
    NoSpace {
        /// The file to be created.
        path: PathBuf,
        /// Its size.
        wanted: ByteSize,
        /// The free space of the file system, if known.
        free: Option<ByteSize>,
    },
    /// A file of this name exists and may hold somebody's data.
    #[error("{0} exists and was not created by Manometer: name another file, or allow overwriting it")]
    ForeignFile(PathBuf),
    /// The name belongs to a directory, a device or anything else but a regular file.
    #[error("{0} is not a regular file: name a file; it is created if absent")]
    NotRegularFile(PathBuf),
    /// A read-only file is shorter than the workload needs.
    #[error("{path} has {got}, but {wanted} are needed: use a smaller file size, or name another file")]
    TooSmall {
        /// The file.
        path: PathBuf,
        /// Its size.
        got: ByteSize,
        /// The requested size.
        wanted: ByteSize,
    },
    /// Parts of a read-only file were never written: reading them would not reach the device.
    #[error("{path} has a hole at byte {offset}, which no read would fetch from the device: name a fully written file")]
    SparseFile {
        /// The file.
        path: PathBuf,
        /// The offset of the first hole.
        offset: u64,
    },
    /// The file system does not support direct I/O.
    #[error("{0} cannot be opened for direct I/O: its file system does not support it; set direct=false")]
    DirectIoUnsupported(PathBuf),
    /// The host does not support this I/O engine.
    #[error("{engine} is not available here ({source}): {}", engine.remedy())]
    EngineUnavailable {
        /// The requested engine.
        engine: IoEngine,
        /// The kernel's error.
        source: io::Error,
    },
    /// The caller asked to stop.
    #[error("stopped while {0} was being created; it was removed")]
    Interrupted(PathBuf),
    /// Any other error of the operating system.
    #[error("cannot {operation} {path}: {source}")]
    System {
        /// The failed operation, as a verb.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
}

impl FileError {
    /// Whether the request was invalid, rather than the disk unsuitable.
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
