//! Errors of simulations and costs.

use manometer_trace::TraceError;
use thiserror::Error;

/// Why a cache cannot be simulated, or its cost cannot be computed.
#[derive(Debug, Error)]
pub enum CacheError {
    /// The request is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
}
