//! Errors of a run.

use manometer_measure::RecordingError;
use manometer_session::error::StartError;

use crate::isolate::IsolateError;
use crate::lock::LockError;
use crate::place::PlaceError;
use crate::prepare::PrepareError;
use crate::prepare::ledger::LedgerError;

/// A run that could not be started or recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Another run holds the device directory.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// The run would write to a place of others.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A workload cannot be isolated, or the device not be set, as the experiment requires.
    #[error(transparent)]
    Isolation(#[from] IsolateError),
    /// A worker could not be started.
    #[error(transparent)]
    Worker(#[from] StartError),
    /// The recording cannot be written.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The device or the data could not be prepared.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The array below the device directory could not be built or taken apart.
    #[error("`[array]`: {text}")]
    Array {
        /// Why.
        text: String,
        /// Whether another request would have been right, rather than another host.
        is_wrong_request: bool,
    },
}

impl RunError {
    /// Whether the user interrupted it.
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Self::Prepare(PrepareError::Interrupted))
    }

    /// Whether the request was wrong, rather than the host.
    pub fn is_wrong_request(&self) -> bool {
        match self {
            Self::Locked(_) | Self::Place(_) | Self::Recording(RecordingError::NotEmpty { .. }) => true,
            Self::Isolation(error) => error.is_wrong_request(),
            Self::Prepare(error) => error.is_wrong_request(),
            Self::Array { is_wrong_request, .. } => *is_wrong_request,
            Self::Worker(_) | Self::Recording(_) => false,
        }
    }
}

impl From<LedgerError> for RunError {
    fn from(error: LedgerError) -> Self {
        Self::Prepare(error.into())
    }
}
