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

/// Why a group of workers did not complete.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GroupError {
    /// A worker could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A worker failed or was lost.
    #[error("process {number} of the replay {reason}")]
    Lost {
        /// Its number, from 1.
        number: usize,
        /// The reason.
        reason: String,
    },
    /// The user interrupted it.
    #[error("interrupted before the first request")]
    Interrupted,
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
    /// Several clients share the workload, and one was lost or cannot do its part.
    #[error("client {number} of {of}{} {reason}", on_host(host.as_deref()))]
    ClientLost {
        /// Its number, from 1.
        number: usize,
        /// The number of clients.
        of: usize,
        /// The command that leads to its host, if any.
        host: Option<String>,
        /// The reason.
        reason: String,
    },
    /// The clients that share the workload could not begin.
    #[error(transparent)]
    Clients(#[from] GroupError),
    /// A workload that clients cannot share.
    #[error("{0}")]
    NotShared(String),
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
            Self::NoInterval | Self::NotShared(_) => true,
            Self::Start(_) | Self::Disconnected(_) | Self::ClientLost { .. } | Self::Clients(_) => false,
        }
    }
}

/// The host of a client for an error's text.
fn on_host(host: Option<&str>) -> String {
    host.map(|host| format!(" on `{host}`")).unwrap_or_default()
}
