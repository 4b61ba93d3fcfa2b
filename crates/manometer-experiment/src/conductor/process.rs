//! A worker process, seen from the conductor.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::Sender;

use manometer_measure::{Clock as _, MonotonicClock};
use manometer_workload::protocol::{Control, Job, Message};

use super::RunError;
use crate::isolate::Place;

/// How long a killed worker may take to be gone, and how often that is looked for.
const KILL_PATIENCE_NS: u64 = 2_000_000_000;
const KILL_LOOK_NS: u64 = 5_000_000;

/// What the reader of a worker's output passes on.
#[derive(Debug)]
pub(crate) enum Told {
    /// A message.
    Message(Message),
    /// The output has ended: the worker is gone, or going.
    End,
}

/// A running worker. Dropping it ends it.
pub(crate) struct Worker {
    pub name: String,
    /// The process that is the worker: in a container, not the one that was started.
    pub pid: u32,
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Worker {
    /// Starts a worker at `place` and, once it is there, tells it its `job`; what it tells arrives on `told` with its
    /// `index`.
    pub(crate) fn start(
        program: &Path,
        place: &Place,
        job: &Job,
        index: usize,
        told: Sender<(usize, Told)>,
    ) -> Result<Self, RunError> {
        let failed = |reason: String| RunError::Worker { workload: job.name.clone(), reason };
        let mut child = place
            .command(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            // Ctrl-C at the terminal is the conductor's to hear; it ends its workers in order.
            .process_group(0)
            .spawn()
            .map_err(|error| failed(format!("{}: {error}", program.display())))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or_else(|| failed("it has no standard output".to_owned()))?;
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or_else(|error| Message::Error {
                    text: format!("said something that makes no sense ({error}): {line}"),
                });
                if told.send((index, Told::Message(message))).is_err() {
                    return;
                }
            }
            // The conductor may have ended already.
            let _ = told.send((index, Told::End));
        });
        let mut worker = Self { name: job.name.clone(), pid: child.id(), child, stdin };
        worker.pid = place.admit(worker.pid).map_err(|error| failed(error.to_string()))?;
        let job = serde_json::to_string(job).map_err(|error| failed(error.to_string()))?;
        match worker.write_line(&job) {
            // Gone already: the end of its output tells, as at any later time.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(worker),
            written => written.map(|()| worker).map_err(|error| failed(error.to_string())),
        }
    }

    /// Whether its process is still there, as far as the kernel shows.
    pub(crate) fn is_alive(&self) -> bool {
        std::fs::read_to_string(format!("/proc/{}/stat", self.pid))
            .is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X'])))
    }

    /// Tells the worker; one that is gone is noticed by the end of its output.
    pub(crate) fn tell(&mut self, control: &Control) {
        if let Err(error) = self.write_line(&control.to_string()) {
            tracing::debug!("`{control}` did not reach {}: {error}", self.name);
        }
    }

    fn write_line(&mut self, line: &str) -> std::io::Result<()> {
        let stdin = self.stdin.as_mut().ok_or(std::io::ErrorKind::BrokenPipe)?;
        stdin.write_all(line.as_bytes())?;
        stdin.write_all(b"\n")?;
        stdin.flush()
    }

    /// Ends the worker where it is still alive.
    pub(crate) fn end(&mut self) {
        drop(self.stdin.take());
        if matches!(self.child.try_wait(), Ok(None)) {
            // A process that ended in between is what was wanted.
            let _ = self.child.kill();
        }
    }

    /// How the worker ended, for people; called once its output has ended.
    pub(crate) fn ending(&mut self) -> String {
        match self.child.wait() {
            Ok(status) => format!("its process ended with {status}"),
            Err(error) => format!("its process cannot be waited for: {error}"),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end();
        // A thread that hangs in a device cannot be killed before the device answers: nobody waits for that.
        let deadline_ns = MonotonicClock.now_ns() + KILL_PATIENCE_NS;
        while matches!(self.child.try_wait(), Ok(None)) && MonotonicClock.now_ns() < deadline_ns {
            MonotonicClock.sleep(KILL_LOOK_NS);
        }
    }
}
