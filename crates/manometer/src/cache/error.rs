//! Errors of the verbs below `cache`.

use manometer_cache::CacheError;

use crate::exit_status::{ExitStatus, wrong_request};
use crate::trace::input;

/// Prints why a trace or a request cannot be simulated.
pub fn refuse(error: &CacheError) -> anyhow::Result<ExitStatus> {
    match error {
        CacheError::Trace(error) => input::refuse(error),
        CacheError::Invalid(_) => Ok(wrong_request(error)),
    }
}
