//! What can be wrong.

use manometer_trace::TraceError;
use thiserror::Error;

/// Why a cache cannot be simulated, or its cost not be told.
#[derive(Debug, Error)]
pub enum CacheError {
    /// What was asked for is wrong.
    #[error("{0}")]
    Invalid(String),
    /// The trace is.
    #[error(transparent)]
    Trace(#[from] TraceError),
}
