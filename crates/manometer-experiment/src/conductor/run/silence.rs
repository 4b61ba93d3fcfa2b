//! Workers that send nothing, and a device that answers no request: the run fails within a limit, instead of waiting.

use std::fs;
use std::path::{Path, PathBuf};

use manometer_measure::{Clock as _, MonotonicClock};
use rustix::fs::{major, minor};

use super::super::RunError;
use super::Run;
use super::conditions::{device_silent, worker_silent};

/// How a worker's process is kept from sending, by its state in `/proc`.
fn reason(state: Option<char>) -> &'static str {
    match state {
        Some('T' | 't') => "its process is stopped: a signal (SIGSTOP) or a debugger",
        Some('D') => "its process waits in the kernel, most likely for a device that does not answer",
        _ => "its process runs, but its sampling thread does not",
    }
}

impl Run<'_> {
    /// Ends workers that have sent nothing for too long.
    pub(super) fn check_silence(&mut self) -> Result<(), RunError> {
        let listened_ns = self.listened.total_ns();
        for index in 0..self.members.len() {
            let member = &self.members[index];
            if !member.is_active() || member.ended.is_some() {
                continue;
            }
            // A worker that loads data or is paused need not send; but it must not be stopped.
            let may_be_silent = if member.facts.is_none() || !member.running {
                !matches!(self.controller.state(index), Some('T' | 't'))
            } else {
                false
            };
            if may_be_silent {
                self.members[index].heard_ns = listened_ns;
            } else if listened_ns - member.heard_ns > self.silence.nanoseconds() {
                let why = reason(self.controller.state(index));
                let text = format!("it sent nothing for {}: {why}", self.silence);
                let finding = worker_silent(&member.part.name, &text);
                self.fail_worker(index, Some(text))?;
                self.finding(finding)?;
            }
        }
        Ok(())
    }

    /// Waits, within the limit of silence, until every worker that runs has sent something since the last two intervals.
    pub(super) fn hear_everyone(&mut self) -> Result<(), RunError> {
        let since_ns = self.listened.total_ns().saturating_sub(2 * self.interval_ns);
        let is_quiet = |run: &Self| {
            let mut running = run.members.iter().filter(|member| member.running && member.is_active());
            running.any(|member| member.ended.is_none() && member.heard_ns <= since_ns)
        };
        self.pump(MonotonicClock.now_ns() + 2 * self.silence.nanoseconds(), |run| !is_quiet(run))
    }

    /// Stops the run if the device answers no request.
    pub(super) fn check_device(&mut self) -> Result<(), RunError> {
        let silent_ns = self.device.silent_ns(self.listened.total_ns());
        if self.spent.is_some() || silent_ns <= self.silence.nanoseconds() {
            return Ok(());
        }
        let reason = format!("the device has answered no request for {}", self.silence);
        self.stop_workers(&reason);
        self.device_is_silent = true;
        self.finding(device_silent(&reason))?;
        Ok(())
    }
}

/// Watches the requests of the device under a directory, in the kernel's counters: reading them does not wait for it.
pub(super) struct DeviceWatch {
    /// `None` where no block device is visible.
    counters: Option<PathBuf>,
    last: Option<RequestCounters>,
    /// By [`Run::listened`].
    answered_ns: u64,
}

/// What the kernel counts of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RequestCounters {
    completed: u64,
    in_flight: u64,
}

impl DeviceWatch {
    pub(super) fn new(directory: &Path) -> Self {
        let device = rustix::fs::stat(directory).map(|stat| stat.st_dev).ok();
        let counters = device.map(|of| PathBuf::from(format!("/sys/dev/block/{}:{}/stat", major(of), minor(of))));
        Self { counters, last: None, answered_ns: 0 }
    }

    /// For how long requests have waited without that any was answered.
    fn silent_ns(&mut self, listened_ns: u64) -> u64 {
        let read = self.counters.as_ref().and_then(|path| fs::read_to_string(path).ok());
        self.update(read.as_deref().and_then(counters_of), listened_ns)
    }

    fn update(&mut self, now: Option<RequestCounters>, listened_ns: u64) -> u64 {
        let waits = now.is_some_and(|counters| counters.in_flight > 0);
        if !waits || self.last.map(|last| last.completed) != now.map(|counters| counters.completed) {
            self.answered_ns = listened_ns;
        }
        self.last = now;
        listened_ns.saturating_sub(self.answered_ns)
    }
}

/// The counters in a device's `stat` (Documentation/block/stat.rst): reads, writes, discards and flushes that ended, and
/// those that wait.
fn counters_of(text: &str) -> Option<RequestCounters> {
    let fields: Vec<u64> = text.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let completed = [0, 4, 11, 15].iter().filter_map(|at| fields.get(*at)).sum();
    Some(RequestCounters { completed, in_flight: *fields.get(8)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn counters(completed: u64, in_flight: u64) -> Option<RequestCounters> {
        Some(RequestCounters { completed, in_flight })
    }

    #[test]
    fn a_device_is_silent_while_requests_wait_and_none_ends() {
        let mut watch = DeviceWatch { counters: None, last: None, answered_ns: 0 };
        assert_eq!(watch.update(counters(10, 4), SECOND), 0);
        assert_eq!(watch.update(counters(10, 4), 4 * SECOND), 3 * SECOND);
        assert_eq!(watch.update(counters(11, 4), 5 * SECOND), 0, "one was answered");
        assert_eq!(watch.update(counters(11, 0), 9 * SECOND), 0, "an idle device need not answer");
        assert_eq!(watch.update(counters(11, 1), 10 * SECOND), SECOND, "asked at any time since");
        assert_eq!(watch.update(None, 90 * SECOND), 0, "nothing is known");
    }

    #[test]
    fn the_counters_of_old_and_new_kernels_are_read() {
        let old = "     100        0     2000       10       50        0      400        5        7       12       15";
        assert_eq!(counters_of(old), counters(150, 7));
        assert_eq!(counters_of(&format!("{old}  3 0 8 1  2 9")), counters(155, 7));
        assert_eq!(counters_of(""), None);
        let watch = DeviceWatch::new(&std::env::temp_dir());
        let read = watch.counters.and_then(|path| fs::read_to_string(path).ok());
        assert!(read.is_none_or(|text| counters_of(&text).is_some()), "this host's own");
    }
}
