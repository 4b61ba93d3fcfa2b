//! What goes wrong with a recording.

use std::io;
use std::path::{Path, PathBuf};

use crate::samples::SamplesError;

/// The latest version of the recording format that is read. It grows when something that earlier versions read changes its
/// meaning, not when something is added.
pub(super) const FORMAT: u64 = 2;

/// An error of writing or reading a recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// A file error.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// A sample series could not be written or read.
    #[error("{}: {source}", path.display())]
    Samples {
        /// The file.
        path: PathBuf,
        /// The error.
        source: SamplesError,
    },
    /// The folder is not empty.
    #[error("{} exists and is not empty: choose another directory for the recording", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// Its plan is damaged: without it the rest has no meaning.
    #[error("{}: {fault}, and nothing can be read without it: copy the recording again, or run it again", path.display())]
    Damaged {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        fault: String,
    },
    /// The folder is not a recording.
    #[error("{} is not a recording: {reason}", path.display())]
    NotARecording {
        /// The folder.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// It has a later format than this version reads.
    #[error(
        "{} is a recording of format {format}{}; this version reads formats up to {FORMAT}: use a later version",
        path.display(),
        writer.as_ref().map_or(String::new(), |writer| format!(", written by Manometer {writer}"))
    )]
    Newer {
        /// The folder.
        path: PathBuf,
        /// Its format.
        format: u64,
        /// The version that wrote it, if known.
        writer: Option<String>,
    },
}

pub(super) fn io_error(path: &Path) -> impl FnOnce(io::Error) -> RecordingError {
    let path = path.to_owned();
    move |source| RecordingError::Io { path, source }
}

pub(super) fn samples_error(path: &Path) -> impl FnOnce(SamplesError) -> RecordingError {
    let path = path.to_owned();
    move |source| RecordingError::Samples { path, source }
}
