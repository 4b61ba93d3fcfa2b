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
    /// The work is done and its result does not decide: it is too short, too noisy or void.
    Undecided = 4,
}

impl ExitStatus {
    /// The status of a gate: `is_passed` is `None` where it is undecided, which passes where that is allowed.
    pub fn of_gate(is_passed: Option<bool>, allow_undecided: bool) -> Self {
        match is_passed {
            Some(true) => Self::Done,
            Some(false) => Self::No,
            None if allow_undecided => Self::Done,
            None => Self::Undecided,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undecided_gate_passes_only_where_that_is_allowed() {
        let all = [Some(true), Some(false), None]
            .map(|gate| [false, true].map(|allow| ExitStatus::of_gate(gate, allow) as u8));
        assert_eq!(all, [[0, 0], [3, 3], [4, 0]]);
    }
}
