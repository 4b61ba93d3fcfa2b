//! What can be wrong.

use manometer_trace::TraceError;
use thiserror::Error;

/// Why a cache cannot be simulated, or its cost not be computed.
#[derive(Debug, Error)]
pub enum CacheError {
    /// The request is wrong.
    #[error("{0}")]
    Invalid(String),
    /// The trace is.
    #[error(transparent)]
    Trace(#[from] TraceError),
}
