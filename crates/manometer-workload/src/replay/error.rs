//! Errors of a replay.

use manometer_target::engine::EngineError;
use manometer_trace::TraceError;

use crate::error::WorkloadError;

/// The error of the trace at `path`, which names the path itself where a file cannot be read.
fn in_trace(path: &str, error: &TraceError) -> String {
    let text = error.to_string();
    if text.starts_with(path) { text } else { format!("{path}: {text}") }
}

/// Why a replay cannot start or continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The engine, its options or its directory.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The trace cannot be read.
    #[error("{}", in_trace(path, error))]
    Trace {
        /// The trace's path.
        path: String,
        /// The reason.
        error: TraceError,
    },
    /// The trace cannot be replayed with these settings.
    #[error("{path}: {reason}")]
    Unfit {
        /// The trace's path.
        path: String,
        /// The reason, and what would be right.
        reason: String,
    },
    /// The trace changed after it was first read.
    #[error("{path}: it changed after it was first read ({what}): replay it again when no process writes to it")]
    Changed {
        /// The trace's path.
        path: String,
        /// What changed.
        what: String,
    },
    /// An invalid setting.
    #[error("`{name}`: got {got}; {wanted}")]
    BadSetting {
        /// Its name.
        name: &'static str,
        /// What was given.
        got: String,
        /// What would be right.
        wanted: String,
    },
    /// A thread panicked.
    #[error("a thread of the replay panicked; this is a bug in Manometer; please report it")]
    Panicked,
}

impl ReplayError {
    pub(super) fn bad(name: &'static str, got: impl Into<String>, wanted: impl Into<String>) -> Self {
        Self::BadSetting { name, got: got.into(), wanted: wanted.into() }
    }

    /// The invalid setting, for [`Self::BadSetting`].
    pub fn setting(&self) -> &'static str {
        match self {
            Self::BadSetting { name, .. } => name,
            Self::Engine(EngineError::UnknownEngine { .. }) => "engine",
            Self::Engine(_) => "options",
            _ => "trace",
        }
    }

    /// Whether the request was invalid, rather than the run failed.
    pub fn is_wrong_request(&self) -> bool {
        match self {
            Self::BadSetting { .. } | Self::Unfit { .. } | Self::Trace { .. } => true,
            Self::Engine(error) => error.is_wrong_request(),
            Self::Changed { .. } | Self::Panicked => false,
        }
    }
}

impl From<ReplayError> for WorkloadError {
    fn from(error: ReplayError) -> Self {
        let is_wrong_request = error.is_wrong_request();
        Self::of_kind(error, is_wrong_request)
    }
}
