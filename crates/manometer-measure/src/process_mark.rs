//! Marks of processes: what carries one, and all that it starts, is found again and ended, also after it changed its
//! session, its group or its parent.
//!
//! A mark is an environment variable, which processes inherit. Lost to it are programs that clear their environment, and those
//! of other users (`sudo`), whose environment only root may read.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use procfs::process::{Process, all_processes};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpgrp, getpid, kill_process, pidfd_open, pidfd_send_signal, waitpid,
};

use crate::{Clock as _, MonotonicClock};

/// The environment variable. Its value begins with the mark of the process that set it.
const VARIABLE: &str = "MANOMETER_PROCESS";

/// How long killed processes may take to end, and how often to look, in nanoseconds. A process that waits for a device
/// that does not answer cannot be killed.
const END_TIMEOUT_NS: u64 = 5_000_000_000;
const END_POLL_NS: u64 = 5_000_000;

/// A mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessMark(String);

impl ProcessMark {
    /// A new mark, below that of this process, which therefore finds the same processes.
    pub fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let (own, number) = (own_mark().unwrap_or_default(), NUMBER.fetch_add(1, Ordering::Relaxed));
        Self(format!("{own}{}.{}.{number}/", getpid().as_raw_pid(), MonotonicClock.now_ns()))
    }

    /// The mark that `text` is.
    pub fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// As text, on one line.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Marks what `command` will start.
    pub fn apply(&self, command: &mut Command) {
        command.env(VARIABLE, &self.0);
    }

    /// Whether a process with this mark runs.
    pub fn is_alive(&self) -> bool {
        !self.processes().is_empty()
    }

    /// Kills every process with this mark, except this one, and waits for their end. Returns the processes that are left
    /// after a limit.
    pub fn end_processes(&self) -> Vec<u32> {
        end(|| self.processes())
    }

    fn processes(&self) -> Vec<Process> {
        let is_marked = |process: &Process| {
            let environment = process.environ().unwrap_or_default();
            environment.get(OsStr::new(VARIABLE)).is_some_and(|mark| mark.as_bytes().starts_with(self.0.as_bytes()))
        };
        running().into_iter().filter(|process| process.pid() != own_pid() && is_marked(process)).collect()
    }
}

impl Default for ProcessMark {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether this process was started by another with a mark.
pub fn is_marked() -> bool {
    own_mark().is_some()
}

fn own_mark() -> Option<String> {
    std::env::var(VARIABLE).ok()
}

/// Whether this process adopts.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// Makes this process the parent of all below it whose own parents end.
///
/// # Errors
/// The kernel refuses.
pub fn adopt_orphans() -> std::io::Result<()> {
    rustix::process::set_child_subreaper(Some(getpid()))?;
    ADOPTS.store(true, Ordering::Relaxed);
    Ok(())
}

/// Kills what this process adopted, with all below it, and waits for its end: the children that are neither in this process's
/// group nor among `children`. Returns the processes that are left after a limit.
pub fn end_adopted(children: &[u32]) -> Vec<u32> {
    if !ADOPTS.load(Ordering::Relaxed) {
        return Vec::new();
    }
    let left = end(|| below(adopted(children, running())));
    // Nobody else waits for those that have ended.
    for ended in adopted(children, all_processes().into_iter().flatten().flatten().collect()) {
        let _ = Pid::from_raw(ended.pid()).map(|pid| waitpid(Some(pid), WaitOptions::NOHANG));
    }
    left
}

/// Those of `processes` that this one adopted.
fn adopted(children: &[u32], processes: Vec<Process>) -> Vec<Process> {
    let own_group = getpgrp().as_raw_pid();
    let is_adopted = |process: &Process| {
        let is_ours = |pid: i32, group: i32| group == own_group || children.contains(&pid.unsigned_abs());
        process.stat().is_ok_and(|stat| stat.ppid == own_pid() && !is_ours(stat.pid, stat.pgrp))
    };
    processes.into_iter().filter(is_adopted).collect()
}

/// Kills every process below this one, and waits for their end. Returns the processes that are left after a limit.
pub fn end_descendants() -> Vec<u32> {
    let own = || Process::myself().into_iter().collect();
    end(|| below(own()).into_iter().filter(|process| process.pid() != own_pid()).collect())
}

/// `roots` and all processes below them.
fn below(roots: Vec<Process>) -> Vec<Process> {
    let mut others: Vec<(i32, Process)> =
        running().into_iter().filter_map(|process| Some((process.stat().ok()?.ppid, process))).collect();
    let mut parents: Vec<i32> = roots.iter().map(Process::pid).collect();
    let mut below = roots;
    while let Some(parent) = parents.pop() {
        for (_, child) in others.extract_if(.., |(of, _)| *of == parent) {
            parents.push(child.pid());
            below.push(child);
        }
    }
    below
}

/// Every process of the host that has not ended.
fn running() -> Vec<Process> {
    let has_ended = |process: &Process| process.stat().map_or(true, |stat| matches!(stat.state, 'Z' | 'X'));
    let all = all_processes().into_iter().flatten().flatten();
    all.filter(|process| !has_ended(process)).collect()
}

/// Kills what `find` finds until it finds nothing, within a limit.
fn end(find: impl Fn() -> Vec<Process>) -> Vec<u32> {
    let deadline_ns = MonotonicClock.now_ns() + END_TIMEOUT_NS;
    loop {
        let left = find();
        if left.is_empty() || MonotonicClock.now_ns() > deadline_ns {
            return left.iter().map(|process| process.pid().unsigned_abs()).collect();
        }
        left.iter().for_each(kill);
        MonotonicClock.sleep(END_POLL_NS);
    }
}

fn kill(process: &Process) {
    let Some(pid) = Pid::from_raw(process.pid()) else { return };
    // A process that has ended, or that this user may not kill, is seen in the next round.
    let _ = match pidfd_open(pid, PidfdFlags::empty()) {
        // What was opened before the handle is still there: its id has not passed to another process.
        Ok(handle) if process.stat().is_ok() => pidfd_send_signal(handle, Signal::KILL),
        Err(Errno::NOSYS) => kill_process(pid, Signal::KILL),
        _ => Ok(()),
    };
}

fn own_pid() -> i32 {
    getpid().as_raw_pid()
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    /// Starts a shell that leaves a process of another session, and of another parent, behind.
    fn leave_behind(mark: &ProcessMark) {
        let mut shell = Command::new("sh");
        mark.apply(&mut shell);
        let script = "setsid sh -c 'sleep 1000 & sleep 1000' > /dev/null 2>&1 &";
        assert!(shell.args(["-c", script]).stdin(Stdio::null()).status().unwrap().success());
    }

    #[test]
    fn what_left_its_session_and_its_parent_is_found_and_no_other() {
        let (mark, other) = (ProcessMark::new(), ProcessMark::new());
        leave_behind(&mark);
        leave_behind(&other);
        assert!(mark.is_alive() && other.is_alive());
        assert_eq!(mark.end_processes(), [] as [u32; 0]);
        assert!(!mark.is_alive() && other.is_alive());
        assert_eq!(ProcessMark::from_text(other.text()).end_processes(), [] as [u32; 0]);
        assert!(!other.is_alive());
    }

    #[test]
    fn marks_differ_and_none_begins_another() {
        let marks: Vec<ProcessMark> = (0..20).map(|_| ProcessMark::new()).collect();
        for (at, one) in marks.iter().enumerate() {
            assert!(marks.iter().skip(at + 1).all(|other| !other.text().starts_with(one.text())));
        }
    }
}
