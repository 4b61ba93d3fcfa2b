//! Errors of a comparison.

use std::path::{Path, PathBuf};

use manometer_session::error::SessionError;
use manometer_target::engine::EngineError;
use manometer_trace::TraceError;

/// A trace that could not be compared with synthetic loads.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RealVsSyntheticError {
    /// The trace cannot be read, or a load not be written.
    #[error("{}: {error}", path.display())]
    Trace {
        /// Its path.
        path: PathBuf,
        /// The error.
        error: TraceError,
    },
    /// The trace is not suitable.
    #[error("{}: {reason}", path.display())]
    Unsuitable {
        /// Its path.
        path: PathBuf,
        /// Why, and what would be right.
        reason: String,
    },
    /// An error of a server.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A server does not report its memory.
    #[error("{engine} does not report its memory usage")]
    MemoryNotReported {
        /// The engine.
        engine: String,
    },
    /// An error of a replay.
    #[error(transparent)]
    Replay(#[from] SessionError),
    /// An error of the file system.
    #[error("{}: {source}", path.display())]
    Io {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The user interrupted it before anything was measured.
    #[error("interrupted before anything was measured")]
    Interrupted,
}

impl RealVsSyntheticError {
    pub(super) fn trace(path: &Path) -> impl Fn(TraceError) -> Self + '_ {
        |error| Self::Trace { path: path.to_owned(), error }
    }

    pub(super) fn unsuitable(path: &Path, reason: impl Into<String>) -> Self {
        Self::Unsuitable { path: path.to_owned(), reason: reason.into() }
    }

    /// Whether the request was wrong, rather than its execution.
    pub fn is_wrong_request(&self) -> bool {
        match self {
            Self::Trace { .. } | Self::Unsuitable { .. } => true,
            Self::Engine(EngineError::NotInstalled { .. }) => true,
            Self::Replay(error) => error.is_wrong_request(),
            _ => false,
        }
    }
}
