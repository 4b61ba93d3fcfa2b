//! What can go wrong with a replay.

use manometer_target::engine::EngineError;
use manometer_trace::TraceError;

/// A replay cannot be, or cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The engine, its options or its folder.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The trace cannot be read.
    #[error("{path}: {error}")]
    Trace {
        /// Its path.
        path: String,
        /// Why.
        error: TraceError,
    },
    /// The trace cannot be replayed as asked.
    #[error("{path}: {reason}")]
    Unfit {
        /// Its path.
        path: String,
        /// Why, and what would be right.
        reason: String,
    },
    /// The trace is no longer what it was when it was first read.
    #[error("{path}: it changed after it was first read ({what}): replay it again when nobody writes to it any more")]
    Changed {
        /// Its path.
        path: String,
        /// What is other than it was.
        what: String,
    },
    /// A setting that makes no sense.
    #[error("`{name}`: got {got}; {wanted}")]
    BadSetting {
        /// Its name.
        name: &'static str,
        /// What was given.
        got: String,
        /// What would be right.
        wanted: String,
    },
    /// A thread of ours ended in a way that it never should.
    #[error("a thread of the replay panicked; this is a mistake of Manometer's: please report it")]
    Panicked,
}

impl ReplayError {
    pub(super) fn bad(name: &'static str, got: impl Into<String>, wanted: impl Into<String>) -> Self {
        Self::BadSetting { name, got: got.into(), wanted: wanted.into() }
    }

    /// The setting that is wrong, as far as one is.
    pub fn setting(&self) -> &'static str {
        match self {
            Self::BadSetting { name, .. } => name,
            Self::Engine(EngineError::UnknownEngine { .. }) => "engine",
            Self::Engine(_) => "options",
            _ => "trace",
        }
    }

    /// Whether what was asked for is wrong, and not what became of it.
    pub fn is_wrong_request(&self) -> bool {
        match self {
            Self::BadSetting { .. } | Self::Unfit { .. } | Self::Trace { .. } => true,
            Self::Engine(error) => error.is_wrong_request(),
            Self::Changed { .. } | Self::Panicked => false,
        }
    }
}
