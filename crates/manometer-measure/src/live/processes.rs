//! The I/O of processes, from `/proc/PID/io`.

use serde::Serialize;

use crate::host::process_io::{ProcessIo, ProcessIoTracker};

/// A process and its I/O.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProcessActivity {
    /// Its process id.
    pub pid: u32,
    /// Its command.
    pub command: String,
    /// Bytes read from storage per second.
    pub read_bytes_per_s: f64,
    /// Bytes written per second, counted when they become dirty.
    pub write_bytes_per_s: f64,
}

impl ProcessActivity {
    /// Bytes read and written per second.
    pub fn bytes_per_s(&self) -> f64 {
        self.read_bytes_per_s + self.write_bytes_per_s
    }
}

/// Samples all processes repeatedly.
#[derive(Debug)]
pub(super) struct ProcessMonitor(ProcessIoTracker);

impl ProcessMonitor {
    pub(super) fn of_host() -> Self {
        Self(ProcessIoTracker::of_host())
    }

    /// The processes with I/O in the `seconds` since the last sample, and the number of processes whose I/O is hidden.
    pub(super) fn sample(&mut self, seconds: Option<f64>) -> (Vec<ProcessActivity>, usize) {
        let all = self.0.read();
        let hidden = all.iter().filter(|process| process.bytes.is_none()).count();
        (seconds.map(|seconds| active(all, seconds)).unwrap_or_default(), hidden)
    }
}

/// The processes with I/O, most I/O first.
fn active(all: Vec<ProcessIo>, seconds: f64) -> Vec<ProcessActivity> {
    let activity = |process: ProcessIo| {
        let [read, written] = process.bytes?;
        let (read_bytes_per_s, write_bytes_per_s) = (read as f64 / seconds, written as f64 / seconds);
        let activity =
            ProcessActivity { pid: process.pid, command: process.command, read_bytes_per_s, write_bytes_per_s };
        (activity.bytes_per_s() > 0.0).then_some(activity)
    };
    let mut active: Vec<ProcessActivity> = all.into_iter().filter_map(activity).collect();
    active.sort_by(|one, other| other.bytes_per_s().total_cmp(&one.bytes_per_s()).then(one.pid.cmp(&other.pid)));
    active
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::process_io::tests::{process_io_of, process_stat};

    #[test]
    fn the_process_with_the_most_io_comes_first_and_idle_ones_are_left_out() {
        let reads = [
            vec![
                process_stat(1, 0, "reader", Some([100, 0])),
                process_stat(2, 0, "writer", Some([0, 0])),
                process_stat(3, 0, "idle", Some([7, 7])),
            ],
            vec![
                process_stat(1, 0, "reader", Some([300, 0])),
                process_stat(2, 0, "writer", Some([0, 1000])),
                process_stat(3, 0, "idle", Some([7, 7])),
            ],
        ];
        let active = active(process_io_of(&reads), 2.0);
        let shown: Vec<(&str, f64, f64)> =
            active.iter().map(|one| (one.command.as_str(), one.read_bytes_per_s, one.write_bytes_per_s)).collect();
        assert_eq!(shown, [("writer", 0.0, 500.0), ("reader", 100.0, 0.0)]);
    }

    #[test]
    fn a_parent_does_not_inherit_the_io_of_ended_children() {
        let reads = [
            vec![process_stat(1, 0, "sh", Some([0, 0])), process_stat(2, 1, "tar", Some([0, 900]))],
            vec![process_stat(1, 0, "sh", Some([0, 1000]))],
        ];
        let active = active(process_io_of(&reads), 1.0);
        assert_eq!(active.len(), 1);
        assert_eq!(
            (active[0].pid, active[0].write_bytes_per_s),
            (1, 100.0),
            "written by the child after the last sample"
        );
    }
}
