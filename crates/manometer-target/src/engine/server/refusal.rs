//! Why a request to a server failed.

use std::io;

/// Why a request failed.
pub(crate) enum Refusal {
    /// The connection broke.
    Broken(io::Error),
    /// The server refused it, or the answer violates the protocol.
    Refused(String),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}
