//! Errors of sessions and of starting workers.

use std::io;

use manometer_workload::error::WorkloadError;

/// A worker that cannot be started.
#[derive(Debug, thiserror::Error)]
#[error("the worker for `{workload}` did not start: {reason}")]
pub struct StartError {
    /// The workload.
    pub workload: String,
    /// The reason.
    pub reason: String,
}

/// Why a session failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The workload failed.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A worker that cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The sample interval is zero.
    #[error("`interval`: got 0; write a time span such as 1s")]
    NoInterval,
    /// The receiver of messages is gone.
    #[error("nobody reads the samples: {0}")]
    Disconnected(#[source] io::Error),
}

impl SessionError {
    /// Whether the request was invalid, rather than the run failed.
    pub fn is_wrong_request(&self) -> bool {
        match self {
            Self::Workload(error) => error.is_wrong_request(),
            Self::NoInterval => true,
            Self::Start(_) | Self::Disconnected(_) => false,
        }
    }
}
