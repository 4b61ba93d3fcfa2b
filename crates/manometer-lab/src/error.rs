//! What can go wrong in the laboratory.

use std::io;
use std::path::PathBuf;

/// An error of the laboratory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// The request is wrong; nothing was changed.
    #[error("{0}")]
    Refused(String),
    /// A program of the system is missing or failed.
    #[error("{program} {arguments}: {text}")]
    Program {
        /// The program.
        program: String,
        /// Its arguments.
        arguments: String,
        /// What it said.
        text: String,
    },
    /// A file or a device cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The kernel did not do what it was asked for.
    #[error("{0}")]
    Kernel(String),
    /// An array is left in part, since a step could not be undone.
    #[error("{error}; then `{undo}` could not be undone: {reason}; `manometer array destroy {name}` tries again")]
    LeftInPart {
        /// The array's name.
        name: String,
        /// What went wrong first.
        error: String,
        /// The step that is left.
        undo: String,
        /// Why.
        reason: String,
    },
    /// The guest did not finish its work.
    #[error("{0}")]
    Guest(String),
}

impl LabError {
    /// An error for an outcome of another task.
    pub(crate) fn unexpected(outcome: &impl std::fmt::Debug) -> Self {
        Self::Guest(format!("the guest answered {outcome:?}"))
    }

    /// An error at a file.
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
