//! A running program: its output lines, its end, and its cleanup.
//!
//! The program leads its own process group and has a mark of its own, so that everything it starts ends with it, also what
//! leaves the group. If this process is killed, the kernel sends SIGKILL to the program itself, and the worker's controller or
//! its guard ends the rest.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use manometer_measure::process_mark::ProcessMark;
use manometer_measure::{Clock as _, MonotonicClock};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use super::CommandError;

/// How long a program may take to end after SIGTERM before it is killed, in nanoseconds.
const GRACE_NS: u64 = 3_000_000_000;

/// How long to wait for the output of a program that has ended, in nanoseconds.
const DRAIN_NS: u64 = 1_000_000_000;

/// How often to check whether a program has ended, in nanoseconds.
const POLL_NS: u64 = 10_000_000;

/// Lines that wait to be read; a program that prints more blocks.
const MAX_WAITING_LINES: usize = 4096;

/// A line longer than this is cut.
const MAX_LINE_BYTES: usize = 1 << 20;

/// One line of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// When it arrived.
    pub t_ns: u64,
    pub text: String,
    /// Whether it came from standard error.
    pub is_error: bool,
}

/// The result of waiting for a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NextLine {
    Line(Line),
    /// Nothing yet.
    Nothing,
    /// The output has ended.
    End,
}

/// A running program. Dropping it kills it and all that it started.
pub(super) struct Program {
    child: Child,
    group: Pid,
    mark: ProcessMark,
    lines: Receiver<Line>,
    pub began_ns: u64,
}

impl Program {
    /// Starts `words` in `folder`.
    pub(super) fn start(
        words: &[String],
        environment: &BTreeMap<String, String>,
        folder: &Path,
    ) -> Result<Self, CommandError> {
        Self::spawn(words, environment, folder)
            .map_err(|source| CommandError::Start { program: words[0].clone(), source })
    }

    fn spawn(words: &[String], environment: &BTreeMap<String, String>, folder: &Path) -> io::Result<Self> {
        let parent = rustix::process::getpid();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).envs(environment).current_dir(folder);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        // SAFETY: between fork and exec only system calls are made; nothing is allocated and no lock taken.
        unsafe { command.pre_exec(move || die_with(parent)) };
        let mark = ProcessMark::new();
        mark.apply(&mut command);
        let mut child = command.spawn()?;
        let group = Pid::from_child(&child);
        let (sender, lines) = sync_channel(MAX_WAITING_LINES);
        forward_lines(child.stdout.take(), false, sender.clone());
        forward_lines(child.stderr.take(), true, sender);
        Ok(Self { child, group, mark, lines, began_ns: MonotonicClock.now_ns() })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line, or [`NextLine::Nothing`] after `ns` nanoseconds.
    pub(super) fn next_line(&self, ns: u64) -> NextLine {
        match self.lines.recv_timeout(Duration::from_nanos(ns)) {
            Ok(line) => NextLine::Line(line),
            Err(RecvTimeoutError::Timeout) => NextLine::Nothing,
            Err(RecvTimeoutError::Disconnected) => NextLine::End,
        }
    }

    /// Whether the program has ended. It is not reaped, so that its process id stays its own.
    pub(super) fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(rustix::process::waitid(WaitId::Pid(self.group), options), Ok(None))
    }

    /// Ends the program, by force where needed, and passes its last lines to `take_line`.
    pub(super) fn end(mut self, mut take_line: impl FnMut(Line)) -> io::Result<ExitStatus> {
        self.signal(Signal::TERM);
        let deadline_ns = MonotonicClock.now_ns() + GRACE_NS;
        while !self.has_ended() && MonotonicClock.now_ns() < deadline_ns {
            self.take_line_or_wait(&mut take_line);
        }
        self.kill_all();
        self.drain_output(&mut take_line);
        self.child.wait()
    }

    /// Passes the remaining output of a program that has ended to `take_line`. Returns its status.
    pub(super) fn ended(mut self, mut take_line: impl FnMut(Line)) -> io::Result<ExitStatus> {
        // A process left behind would hold the pipes open, and be an orphan.
        self.kill_all();
        self.drain_output(&mut take_line);
        self.child.wait()
    }

    fn drain_output(&self, take_line: &mut impl FnMut(Line)) {
        let deadline_ns = MonotonicClock.now_ns() + DRAIN_NS;
        while MonotonicClock.now_ns() < deadline_ns {
            match self.next_line(POLL_NS) {
                NextLine::Line(line) => take_line(line),
                NextLine::Nothing => {}
                NextLine::End => return,
            }
        }
    }

    fn take_line_or_wait(&self, take_line: &mut impl FnMut(Line)) {
        match self.next_line(POLL_NS) {
            NextLine::Line(line) => take_line(line),
            NextLine::Nothing => {}
            NextLine::End => MonotonicClock.sleep(POLL_NS),
        }
    }

    /// Kills its group, and what has left it.
    fn kill_all(&self) {
        self.signal(Signal::KILL);
        self.mark.end_processes();
    }

    fn signal(&self, signal: Signal) {
        // The group may already be gone.
        let _ = rustix::process::kill_process_group(self.group, signal);
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // After a successful wait its process id may belong to another process.
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
        }
        self.mark.end_processes();
    }
}

/// Asks the kernel to kill this process when its parent dies. Fails if the parent is dead already.
fn die_with(parent: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
}

/// Forwards the lines of `output` on a separate thread until the output ends or the receiver is gone.
fn forward_lines(output: Option<impl Read + Send + 'static>, is_error: bool, lines: SyncSender<Line>) {
    let Some(mut output) = output else { return };
    std::thread::spawn(move || {
        let mut line = Vec::new();
        let mut bytes = [0; 1 << 14];
        while let Ok(count @ 1..) = output.read(&mut bytes) {
            for byte in &bytes[..count] {
                if *byte != b'\n' && *byte != b'\r' {
                    if line.len() < MAX_LINE_BYTES {
                        line.push(*byte);
                    }
                } else if !forward_line(&mut line, is_error, &lines) {
                    return;
                }
            }
        }
        forward_line(&mut line, is_error, &lines);
    });
}

/// Forwards a line unless it is empty. Returns whether the receiver still exists.
fn forward_line(line: &mut Vec<u8>, is_error: bool, lines: &SyncSender<Line>) -> bool {
    let text = String::from_utf8_lossy(line).trim_end().to_owned();
    line.clear();
    text.is_empty() || lines.send(Line { t_ns: MonotonicClock.now_ns(), text, is_error }).is_ok()
}
