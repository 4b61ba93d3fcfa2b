//! Errors of snapshots.

use std::io;
use std::path::{Path, PathBuf};

/// A snapshot that cannot be created or restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// An error of the file system.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A database contains something other than files and folders.
    #[error("{} is neither a file nor a directory and cannot be part of a snapshot; no engine creates it", .0.display())]
    UnsupportedFile(PathBuf),
    /// The data to be replaced are in no snapshot.
    #[error(
        "{} holds another database ({found}) that is in no snapshot: delete it yourself, or choose another directory",
        path.display()
    )]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// What it contains.
        found: String,
    },
}

impl SnapshotError {
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}
