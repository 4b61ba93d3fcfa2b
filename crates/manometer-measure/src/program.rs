//! Runs a program of the host with a time limit.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::{Clock as _, MonotonicClock};

/// How long a program may take to exit after it closed its output or was killed, and how often that is checked.
const EXIT_TIMEOUT_NS: u64 = 2_000_000_000;
const EXIT_POLL_NS: u64 = 5_000_000;

/// The limit of the output that is read.
const MAX_OUTPUT_BYTES: u64 = 4 << 20;

/// The folders of system programs, which are not in every user's path.
const FOLDERS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// The output of a program and its exit status, if it exited.
#[derive(Debug)]
pub(crate) struct Output {
    pub status: Option<ExitStatus>,
    pub stdout: String,
    pub stderr: String,
}

/// A program that gave no output.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProgramError {
    #[error("{0} is not installed")]
    Missing(String),
    #[error("{program} did not answer within {milliseconds} ms")]
    Slow { program: String, milliseconds: u128 },
    #[error("{program}: {text}")]
    Refused { program: String, text: String },
}

impl ProgramError {
    /// Whether a later attempt in this run cannot succeed.
    pub(crate) fn is_final(&self) -> bool {
        !matches!(self, Self::Slow { .. })
    }
}

/// Runs `program` with `arguments`, for `limit` at most, and returns what it printed, with any exit status.
pub(crate) fn run(program: &str, arguments: &[&str], limit: Duration) -> Result<Output, ProgramError> {
    let mut child = start(program, arguments)?;
    let (stdout, stderr) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let deadline_ns = MonotonicClock.now_ns() + u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX / 2);
    let left = || Duration::from_nanos(deadline_ns.saturating_sub(MonotonicClock.now_ns()));
    let outputs = stdout.recv_timeout(left()).and_then(|out| Ok((out, stderr.recv_timeout(left())?)));
    let status = end(&mut child, outputs.is_ok());
    let program = name(program);
    match outputs {
        Ok((Ok(stdout), stderr)) => Ok(Output { status, stdout, stderr: stderr.unwrap_or_default() }),
        Ok((Err(text), _)) => Err(ProgramError::Refused { program, text }),
        Err(_) => Err(ProgramError::Slow { program, milliseconds: limit.as_millis() }),
    }
}

/// The output of `program` if it succeeds; else an error with the last line that it printed as an error.
pub(crate) fn answer(program: &str, arguments: &[&str], limit: Duration) -> Result<String, ProgramError> {
    let output = run(program, arguments, limit)?;
    if output.status.is_some_and(|status| status.success()) {
        return Ok(output.stdout);
    }
    let message = output.stderr.trim().lines().next_back().map(str::to_owned);
    let ended = || output.status.map_or_else(|| "does not exit".to_owned(), |status| status.to_string());
    Err(ProgramError::Refused { program: name(program), text: message.unwrap_or_else(ended) })
}

fn name(program: &str) -> String {
    Path::new(program).file_name().map_or_else(|| program.to_owned(), |name| name.to_string_lossy().into_owned())
}

fn start(program: &str, arguments: &[&str]) -> Result<Child, ProgramError> {
    let spawn = |program: &Path| {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    };
    let mut places = std::iter::once(program.into()).chain(FOLDERS.map(|folder| Path::new(folder).join(program)));
    let started = places.find_map(|place: PathBuf| match spawn(&place) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        started => Some(started),
    });
    let started = started.ok_or_else(|| ProgramError::Missing(name(program)))?;
    started.map_err(|error| ProgramError::Refused { program: name(program), text: error.to_string() })
}

/// Reads the output of a program on a separate thread, because a child of the program may hold the pipe open.
fn collect(pipe: Option<impl Read + Send + 'static>) -> Receiver<Result<String, String>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.map_or(Ok(0), |pipe| pipe.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes));
        let text = read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).map_err(|error| error.to_string());
        // Nobody receives the output of a program that was too slow.
        let _ = sender.send(text);
    });
    receiver
}

/// Waits for the program to exit, or kills it. One that hangs in a device cannot be killed before the device answers.
fn end(child: &mut Child, done: bool) -> Option<ExitStatus> {
    if !done {
        // The process may have exited in the meantime.
        let _ = child.kill();
    }
    let deadline_ns = MonotonicClock.now_ns() + EXIT_TIMEOUT_NS;
    loop {
        match child.try_wait() {
            Ok(None) if MonotonicClock.now_ns() < deadline_ns => MonotonicClock.sleep(EXIT_POLL_NS),
            ended => return ended.ok().flatten(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    #[test]
    fn answers_errors_and_missing_programs_are_distinguished() {
        let refused = |program: &str, text: &str| {
            Err(ProgramError::Refused { program: program.to_owned(), text: text.to_owned() })
        };
        assert_eq!(answer("sh", &["-c", "echo well"], LIMIT), Ok("well\n".to_owned()));
        assert_eq!(answer("sh", &["-c", "echo no; echo no daemon >&2; exit 1"], LIMIT), refused("sh", "no daemon"));
        assert_eq!(answer("sh", &["-c", "exit 3"], LIMIT), refused("sh", "exit status: 3"));
        let missing = ProgramError::Missing("no-such-program".to_owned());
        assert_eq!(answer("/nowhere/no-such-program", &[], LIMIT), Err(missing.clone()));
        assert_eq!(missing.to_string(), "no-such-program is not installed");
    }

    #[test]
    fn a_program_that_hangs_is_killed_without_waiting_for_its_children() {
        for doing in ["exec sleep 900", "sleep 5 & exit 0"] {
            let error = answer("sh", &["-c", doing], Duration::from_millis(20)).unwrap_err();
            assert_eq!(error, ProgramError::Slow { program: "sh".to_owned(), milliseconds: 20 });
        }
    }

    #[test]
    fn the_output_of_a_program_counts_whatever_its_status() {
        let output = run("sh", &["-c", "echo out; echo err >&2; exit 4"], LIMIT).unwrap();
        assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("out\n", "err\n"));
        assert_eq!(output.status.and_then(|status| status.code()), Some(4));
    }

    #[test]
    fn a_program_that_cannot_be_executed_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("smartctl");
        std::fs::write(&path, "text").unwrap();
        let error = run(path.to_str().unwrap(), &[], LIMIT).unwrap_err();
        assert!(error.to_string().starts_with("smartctl: "), "{error}");
    }
}
