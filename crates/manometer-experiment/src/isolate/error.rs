//! Errors of isolation.

use std::io;
use std::path::{Path, PathBuf};

use crate::limits::PriorityClass;

/// Isolation that is not available or was lost.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IsolateError {
    /// This host does not support what the experiment requires.
    #[error("this host does not support what the experiment requires:\n  {}", .0.join("\n  "))]
    Unsupported(Vec<String>),
    /// A file or folder cannot be created or read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file with the settings to be restored is invalid.
    #[error(
        "{} lists the host settings that a killed run changed, and is invalid ({source}): remove it and restore the \
         scheduler yourself", path.display()
    )]
    InvalidRestoreFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The kernel rejects a value.
    #[error("{} does not accept `{text}`: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The value.
        text: String,
        /// The system's error.
        source: io::Error,
    },
    /// A control group lacks a controller.
    #[error("its control group has no controller `{0}`")]
    NoController(&'static str),
    /// The I/O priority of a worker cannot be set.
    #[error("the I/O priority `{class}` of its requests cannot be set: {source}")]
    Priority {
        /// The requested class.
        class: PriorityClass,
        /// The system's error.
        source: io::Error,
    },
    /// A container did not start.
    #[error("its container: {0}")]
    Container(String),
}

impl IsolateError {
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    /// Whether the request was wrong, rather than the host.
    pub fn is_wrong_request(&self) -> bool {
        matches!(self, Self::Unsupported(_))
    }
}
