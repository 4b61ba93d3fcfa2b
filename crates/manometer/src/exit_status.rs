//! How a verb ends.

use std::fmt::Display;
use std::process::ExitCode;

use crate::output;

/// The exit status of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// The work is done.
    Done = 0,
    /// The work failed or was interrupted.
    Failed = 1,
    /// The request was wrong; nothing was started.
    WrongRequest = 2,
    /// The work is done and its verdict is no: a regression, a missed goal, an unfaithful replay.
    No = 3,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}

/// Prints why the request is wrong.
pub fn wrong_request(reason: impl Display) -> ExitStatus {
    output::error(reason);
    ExitStatus::WrongRequest
}
