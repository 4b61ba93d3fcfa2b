//! Helpers for tests of complete sessions.

use std::error::Error;

use manometer_session::error::SessionError;
use manometer_workload::error::WorkloadError;

/// The error of the kind of workload itself.
pub fn kind_error<E: Error + 'static>(error: SessionError) -> E {
    match error {
        SessionError::Workload(WorkloadError::WrongRequest(error) | WorkloadError::Failed(error)) => {
            *error.downcast().unwrap()
        }
        other => panic!("{other}"),
    }
}
