//! Asks a program of the host, and does not wait for ever.

use std::io::Read as _;
use std::process::{Command, Stdio};

use crate::clock::{Clock as _, MonotonicClock};

/// How long a program may take to answer.
const PATIENCE_NS: u64 = 5_000_000_000;

/// How often its end is looked for.
const LOOK_NS: u64 = 5_000_000;

/// The most that is read of an answer.
const MAX_ANSWER_BYTES: u64 = 1 << 20;

/// What `program` prints; else why not, in a few words.
pub(super) fn answer(program: &str, arguments: &[&str]) -> Result<String, String> {
    answer_within(program, arguments, PATIENCE_NS)
}

fn answer_within(program: &str, arguments: &[&str], patience_ns: u64) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "not installed".to_owned(),
        _ => error.to_string(),
    })?;
    let (out, err) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let deadline_ns = MonotonicClock.now_ns() + patience_ns;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if MonotonicClock.now_ns() < deadline_ns => MonotonicClock.sleep(LOOK_NS),
            _ => {
                // The readers are left behind: a child of the child may hold the pipes open. Nor is the end waited for:
                // one that hangs in a device cannot be killed before the device answers.
                let _ = child.kill();
                let _ = child.try_wait();
                return Err(format!("no answer within {} s", patience_ns / 1_000_000_000));
            }
        }
    };
    if status.success() {
        return out.join().map_err(|_| "its answer cannot be read".to_owned());
    }
    let said = err.join().unwrap_or_default();
    Err(said.trim().lines().next_back().map_or_else(|| status.to_string(), str::to_owned))
}

fn reader(pipe: Option<impl std::io::Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read until an error is what there is.
        let _ = pipe.map(|pipe| pipe.take(MAX_ANSWER_BYTES).read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_refusals_and_absence_are_told_apart() {
        assert_eq!(answer("sh", &["-c", "echo well"]), Ok("well\n".to_owned()));
        assert_eq!(answer("sh", &["-c", "echo no daemon >&2; exit 1"]), Err("no daemon".to_owned()));
        assert_eq!(answer("manometer-no-such-program", &[]), Err("not installed".to_owned()));
    }

    #[test]
    fn a_program_that_hangs_is_ended() {
        assert_eq!(answer_within("sleep", &["600"], 1), Err("no answer within 0 s".to_owned()));
    }
}
