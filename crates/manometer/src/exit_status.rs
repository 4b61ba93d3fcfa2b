//! How a verb ends.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use crate::output;

/// The exit status of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// The work is done.
    Done = 0,
    /// The work failed or was interrupted.
    Failed = 1,
    /// The request was wrong, or not permitted.
    WrongRequest = 2,
    /// The work is done and its verdict is no: a regression, a missed goal, an unfaithful replay.
    No = 3,
    /// The work is done and its result does not decide: it is too short, too noisy or void.
    Undecided = 4,
}

/// The exit status after a second signal.
pub const ENDED_AT_ONCE: u8 = 130;

/// What each status of every verb means: the table of `--help` and of `docs/experiment.md`.
const MEANINGS: [(u8, &str); 6] = [
    (ExitStatus::Done as u8, "done; a gate (`run` with `[goal]`, `compare`) is shown to be passed"),
    (ExitStatus::Failed as u8, "the work failed, was interrupted, or is incomplete because an input is damaged"),
    (ExitStatus::WrongRequest as u8, "the request was wrong and nothing was started, or this user lacks a permission"),
    (
        ExitStatus::No as u8,
        "done, and the answer is no: a phase is shown to be worse (`compare`) or to miss the goal (`run`), no rate meets \
         the goal (`kv --find-max`), nothing meets a goal (`cache`), a replay is not faithful (`replay \
         --require-fidelity`), a database is damaged (`rlsm verify`)",
    ),
    (
        ExitStatus::Undecided as u8,
        "done, and undecided: the result is too short, too noisy or void (`compare`, `run`, `kv --find-max`); the output \
         says how long phases would have to be. `--allow-undecided` of `compare` and `run` turns it into 0",
    ),
    (ENDED_AT_ONCE, "a second signal ended the program at once"),
];

/// The table of statuses for `--help`.
pub fn help() -> String {
    let row = |(status, meaning): &(u8, &str)| format!("  {status:>3}  {meaning}");
    format!("Exit status, of every verb:\n{}", MEANINGS.iter().map(row).collect::<Vec<_>>().join("\n"))
}

impl ExitStatus {
    /// The status of an error that no verb expected: what is not permitted was a wrong request.
    pub fn of_error(error: &anyhow::Error) -> Self {
        let is_denied = |cause: &io::Error| cause.kind() == io::ErrorKind::PermissionDenied;
        let denied = error.chain().any(|cause| cause.downcast_ref().is_some_and(is_denied));
        if denied { Self::WrongRequest } else { Self::Failed }
    }

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
    use manometer_testing::repository_file;

    use super::*;

    #[test]
    fn an_undecided_gate_passes_only_where_that_is_allowed() {
        let all = [Some(true), Some(false), None]
            .map(|gate| [false, true].map(|allow| ExitStatus::of_gate(gate, allow) as u8));
        assert_eq!(all, [[0, 0], [3, 3], [4, 0]]);
    }

    #[test]
    fn what_is_not_permitted_was_a_wrong_request_however_deep() {
        let error = |kind| anyhow::Error::new(io::Error::from(kind)).context("reading").context("the run");
        assert_eq!(ExitStatus::of_error(&error(io::ErrorKind::PermissionDenied)), ExitStatus::WrongRequest);
        assert_eq!(ExitStatus::of_error(&error(io::ErrorKind::StorageFull)), ExitStatus::Failed);
    }

    #[test]
    fn the_table_of_the_manual_is_that_of_the_code_and_complete() {
        let manual = std::fs::read_to_string(repository_file("docs/experiment.md")).unwrap();
        let (_, section) = manual.split_once("\n## Exit statuses\n").unwrap();
        let rows = section.lines().skip_while(|line| !line.starts_with("| ---")).skip(1);
        let rows: Vec<&str> = rows.take_while(|line| line.starts_with('|')).collect();
        let table: Vec<String> = MEANINGS.iter().map(|(status, meaning)| format!("| {status} | {meaning} |")).collect();
        assert_eq!(rows, table);
        let all =
            [ExitStatus::Done, ExitStatus::Failed, ExitStatus::WrongRequest, ExitStatus::No, ExitStatus::Undecided];
        let statuses = all.map(|status| status as u8).into_iter().chain([ENDED_AT_ONCE]);
        assert!(statuses.eq(MEANINGS.iter().map(|(status, _)| *status)));
    }
}
