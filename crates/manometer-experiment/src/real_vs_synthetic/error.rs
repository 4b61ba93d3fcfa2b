//! Why a trace could not be set against synthetic loads.

use std::path::{Path, PathBuf};

use manometer_target::engine::EngineError;
use manometer_trace::TraceError;
use manometer_workload::replay::ReplayError;

/// A trace could not be set against synthetic loads.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RealVsSyntheticError {
    /// The trace cannot be read, or a load not be written.
    #[error("{}: {error}", path.display())]
    Trace {
        /// Its path.
        path: PathBuf,
        /// Why.
        error: TraceError,
    },
    /// The trace does not serve.
    #[error("{}: {reason}", path.display())]
    Unfit {
        /// Its path.
        path: PathBuf,
        /// Why, and what would be right.
        reason: String,
    },
    /// A server.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A server that does not tell what is needed.
    #[error("{engine} does not tell how much memory it takes")]
    Untold {
        /// The engine.
        engine: String,
    },
    /// A replay.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// A folder or a file of ours.
    #[error("{}: {source}", path.display())]
    Io {
        /// Its path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Somebody ended it before anything was measured.
    #[error("interrupted before anything was measured")]
    Interrupted,
}

impl RealVsSyntheticError {
    pub(super) fn trace(path: &Path) -> impl Fn(TraceError) -> Self + '_ {
        |error| Self::Trace { path: path.to_owned(), error }
    }

    pub(super) fn unfit(path: &Path, reason: impl Into<String>) -> Self {
        Self::Unfit { path: path.to_owned(), reason: reason.into() }
    }

    /// Whether what was asked for is wrong, and not what became of it.
    pub fn is_wrong_request(&self) -> bool {
        match self {
            Self::Trace { .. } | Self::Unfit { .. } => true,
            Self::Engine(EngineError::NotInstalled { .. }) => true,
            Self::Replay(error) => error.is_wrong_request(),
            _ => false,
        }
    }
}
