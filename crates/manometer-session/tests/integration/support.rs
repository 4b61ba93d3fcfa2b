//! Helpers for tests of complete sessions.

use manometer_session::error::SessionError;
use manometer_workload::error::WorkloadError;

/// The error of the workload itself.
pub fn workload_error(error: SessionError) -> WorkloadError {
    match error {
        SessionError::Workload(error) => error,
        other => panic!("{other}"),
    }
}
