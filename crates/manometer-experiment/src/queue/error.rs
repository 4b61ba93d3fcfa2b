//! Errors of the queue.

use std::io;
use std::path::{Path, PathBuf};

use manometer_measure::RecordingError;

use crate::lock::LockError;

/// A queue that cannot be started, resumed or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// The folder holds runs.
    #[error("{} already holds runs: resume them with `--resume`, or choose another --out", out.display())]
    Exists {
        /// The output folder.
        out: PathBuf,
    },
    /// The folder holds no queue.
    #[error("{} holds no queue: name the --out of the set to resume, or remove `--resume`", out.display())]
    Missing {
        /// The output folder.
        out: PathBuf,
    },
    /// The folder holds another set.
    #[error(
        "{} is the queue of another set: {}. Resume it with the same files and --set, or choose another --out",
        out.display(), differences.join("; ")
    )]
    DifferentSet {
        /// The output folder.
        out: PathBuf,
        /// The differences.
        differences: Vec<String>,
    },
    /// The folder holds the recording of another experiment.
    #[error(
        "{} is the recording of another experiment: {}. Resume it with the same file and --set, or choose another --out",
        out.display(), differences.join("; ")
    )]
    DifferentRecording {
        /// The folder.
        out: PathBuf,
        /// The differences.
        differences: Vec<String>,
    },
    /// `queue.jsonl` is damaged.
    #[error("{}, line {line}: {reason}: the queue cannot be resumed; choose another --out", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// Another process holds the folder.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// The folder holds no recording that can be resumed.
    #[error("{0}: there is no run to resume; choose another --out, or remove `--resume`")]
    NotARecording(RecordingError),
    /// An error of the file system.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl QueueError {
    pub(super) fn io(path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path: path.clone(), source }
    }

    /// Whether the request was wrong, rather than the host.
    pub fn is_wrong_request(&self) -> bool {
        !matches!(self, Self::Io { .. })
    }
}
