//! The guard: a small process that ends workers, and all that they started, if their controller is killed together with them.

use std::io::{self, Write as _, stdin};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use manometer_measure::process_mark::ProcessMark;
use manometer_measure::{Clock as _, MonotonicClock};

/// The verb of the program that is a guard.
pub const VERB: &str = "guard";

/// How long workers may take to end in order after their controller is gone, and how often to look, in nanoseconds.
const ORDERLY_END_NS: u64 = 2_500_000_000;
const POLL_NS: u64 = 20_000_000;

/// A running guard. It ends soon after it is dropped or this process is killed.
#[derive(Debug)]
pub struct Guard {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Guard {
    /// Starts a guard of `program`, in a group of its own: signals of the terminal are for others.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(program: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.arg(VERB).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn()?;
        Ok(Self { stdin: child.stdin.take(), child })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Has the guard end what carries `mark`.
    ///
    /// # Errors
    /// The guard has ended.
    pub fn watch(&mut self, mark: &ProcessMark) -> io::Result<()> {
        let stdin = self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(stdin, "{}", mark.text())?;
        stdin.flush()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // Nothing is left to end, so it ends at once.
        let _ = self.child.wait();
    }
}

/// Reads marks from standard input; when it ends, the controller is gone: ends what carries them.
pub fn run() {
    let marks: Vec<ProcessMark> =
        stdin().lines().map_while(Result::ok).map(|line| ProcessMark::from_text(&line)).collect();
    let deadline_ns = MonotonicClock.now_ns() + ORDERLY_END_NS;
    while marks.iter().any(ProcessMark::is_alive) && MonotonicClock.now_ns() < deadline_ns {
        MonotonicClock.sleep(POLL_NS);
    }
    for mark in &marks {
        mark.end_processes();
    }
}
