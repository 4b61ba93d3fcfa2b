//! Running a tool with a time limit.

use std::io::{ErrorKind, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::{Clock as _, MonotonicClock};

/// How long a tool may take.
const LIMIT: Duration = Duration::from_secs(10);

/// How long a tool that is killed may take to be gone, and how often that is looked for.
const KILL_PATIENCE_NS: u64 = 2_000_000_000;
const KILL_LOOK_NS: u64 = 5_000_000;

/// More than any tool prints.
const MAX_OUTPUT_BYTES: u64 = 4 << 20;

/// The folders of the administrator's programs, which are not on every user's path.
const FOLDERS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// The tools, and how long each may take.
#[derive(Debug, Clone)]
pub(super) struct Tools {
    pub smartctl: String,
    pub nvme: String,
    limit: Duration,
}

impl Default for Tools {
    fn default() -> Self {
        Self { smartctl: "smartctl".to_owned(), nvme: "nvme".to_owned(), limit: LIMIT }
    }
}

/// What a tool printed.
#[derive(Debug)]
pub(super) struct Output {
    pub stdout: String,
    pub stderr: String,
}

/// Why a tool told nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ToolError {
    #[error("{0} is not installed")]
    Missing(String),
    #[error("{tool} did not answer within {milliseconds} ms")]
    Slow { tool: String, milliseconds: u128 },
    #[error("{tool}: {text}")]
    Refused { tool: String, text: String },
}

impl ToolError {
    /// Whether it makes no sense to ask again in this run.
    pub(super) fn is_final(&self) -> bool {
        !matches!(self, Self::Slow { .. })
    }
}

impl Tools {
    /// Runs `program` with `arguments` and returns what it printed, whatever its exit status.
    pub(super) fn run(&self, program: &str, arguments: &[&str]) -> Result<Output, ToolError> {
        let tool = name(program);
        let refused = |text: String| ToolError::Refused { tool: tool.clone(), text };
        let mut child = start(program, arguments)?;
        let (stdout, stderr) = (collect(child.stdout.take()), collect(child.stderr.take()));
        let deadline_ns = MonotonicClock.now_ns() + u64::try_from(self.limit.as_nanos()).unwrap_or(u64::MAX / 2);
        let left = || Duration::from_nanos(deadline_ns.saturating_sub(MonotonicClock.now_ns()));
        let outputs = stdout.recv_timeout(left()).and_then(|out| Ok((out, stderr.recv_timeout(left())?)));
        end(&mut child, outputs.is_ok());
        match outputs {
            Ok((stdout, stderr)) => Ok(Output { stdout: stdout.map_err(refused)?, stderr: stderr.unwrap_or_default() }),
            Err(_) => Err(ToolError::Slow { tool, milliseconds: self.limit.as_millis() }),
        }
    }
}

fn name(program: &str) -> String {
    Path::new(program).file_name().map_or_else(|| program.to_owned(), |name| name.to_string_lossy().into_owned())
}

fn start(program: &str, arguments: &[&str]) -> Result<Child, ToolError> {
    let spawn = |program: &Path| {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    };
    let mut places = std::iter::once(program.into()).chain(FOLDERS.map(|folder| Path::new(folder).join(program)));
    let started = places.find_map(|place: std::path::PathBuf| match spawn(&place) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        started => Some(started),
    });
    let started = started.ok_or_else(|| ToolError::Missing(name(program)))?;
    started.map_err(|error| ToolError::Refused { tool: name(program), text: error.to_string() })
}

/// Reads all that a tool prints, on a thread of its own.
fn collect(pipe: Option<impl Read + Send + 'static>) -> Receiver<Result<String, String>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.map_or(Ok(0), |pipe| pipe.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes));
        let text = read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).map_err(|error| error.to_string());
        // Nobody waits for a tool that was too slow.
        let _ = sender.send(text);
    });
    receiver
}

/// Takes the tool's end, or ends it. One that hangs in a device cannot be killed before the device answers.
fn end(child: &mut Child, done: bool) {
    if !done {
        // A process that ended in between is what was wanted.
        let _ = child.kill();
    }
    let deadline_ns = MonotonicClock.now_ns() + KILL_PATIENCE_NS;
    while matches!(child.try_wait(), Ok(None)) && MonotonicClock.now_ns() < deadline_ns {
        MonotonicClock.sleep(KILL_LOOK_NS);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;

    use super::super::disk::Disk;
    use super::*;

    /// A tool made for a test.
    pub struct Script(tempfile::TempDir);

    impl Script {
        pub fn printing(text: &str, status: i32) -> Self {
            let script = Self(tempfile::tempdir().unwrap());
            script.now_prints(text, status);
            script
        }

        /// A tool that prints the file that is named like its first argument, and fails where there is none.
        pub fn of_verbs(files: &[(&str, &str)]) -> Self {
            let script = Self(tempfile::tempdir().unwrap());
            files.iter().for_each(|(verb, text)| fs::write(script.0.path().join(verb), text).unwrap());
            script.write("if [ -f \"$1\" ]; then cat \"$1\"; else echo \"$3: no such log\" >&2; exit 1; fi");
            script
        }

        /// A tool that would answer in a quarter of an hour.
        pub fn hanging() -> Self {
            let script = Self(tempfile::tempdir().unwrap());
            script.write("exec sleep 900");
            script
        }

        pub fn now_prints(&self, text: &str, status: i32) {
            fs::write(self.0.path().join("output"), text).unwrap();
            self.write(&format!("cat output; exit {status}"));
        }

        /// Has another process write the program down: one that this process has open for writing, even in a child
        /// that is being started elsewhere, could not be run.
        fn write(&self, doing: &str) {
            let dir = self.0.path();
            let text = format!("#!/bin/sh\ncd '{}'\necho run >> runs\n{doing}\n", dir.display());
            let mut shell = Command::new("sh");
            shell.args(["-c", "printf %s \"$1\" > part && chmod 755 part && mv part smartctl", "sh", &text]);
            assert!(shell.current_dir(dir).status().unwrap().success());
        }

        pub fn runs(&self) -> usize {
            fs::read_to_string(self.0.path().join("runs")).unwrap_or_default().lines().count()
        }

        /// This tool alone.
        pub fn tools(&self) -> Tools {
            Tools { smartctl: self.0.path().join("smartctl").display().to_string(), ..Tools::missing() }
        }

        /// This tool as `nvme` alone.
        pub fn as_nvme(&self) -> Tools {
            Tools { nvme: self.tools().smartctl, ..Tools::missing() }
        }

        /// This tool alone, with next to no time.
        pub fn hurried_tools(&self) -> Tools {
            Tools { limit: Duration::from_millis(20), ..self.tools() }
        }
    }

    impl Tools {
        pub fn missing() -> Self {
            Self { smartctl: "/nowhere/smartctl".to_owned(), nvme: "/nowhere/nvme".to_owned(), limit: LIMIT }
        }
    }

    pub fn sata(path: &str) -> Disk {
        Disk::at(path, None)
    }

    #[test]
    fn a_tool_that_hangs_is_ended() {
        let tools = Tools { limit: Duration::from_millis(20), ..Tools::default() };
        let error = tools.run("sleep", &["900"]).unwrap_err();
        assert_eq!(error, ToolError::Slow { tool: "sleep".to_owned(), milliseconds: 20 });
        assert!(!error.is_final());
    }

    #[test]
    fn what_a_tool_prints_counts_whatever_its_status() {
        let output = Tools::default().run("sh", &["-c", "echo out; echo err >&2; exit 4"]).unwrap();
        assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("out\n", "err\n"));
    }

    #[test]
    fn a_program_that_may_not_be_run_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("smartctl");
        fs::write(&path, "text").unwrap();
        let error = Tools::default().run(path.to_str().unwrap(), &[]).unwrap_err();
        assert!(error.to_string().starts_with("smartctl: "), "{error}");
        assert_eq!(Tools::missing().run("/nowhere/nvme", &[]).unwrap_err().to_string(), "nvme is not installed");
    }
}
