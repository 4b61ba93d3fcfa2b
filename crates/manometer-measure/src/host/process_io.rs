//! The I/O of each process since the last read: `/proc/*/io`, without kernel tasks, and without the I/O of ended children
//! that the kernel adds to their parent.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::kernel_file::field;

/// More ancestors than a process has.
pub(super) const MAX_ANCESTORS: usize = 256;

/// The flag of kernel tasks, which read and write for other processes.
const KERNEL_TASK: u64 = 0x0020_0000;

/// A process id with the start time of the process, because ids are reused.
pub(crate) type ProcessIdentity = (u32, u64);

/// A process at one read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    pub pid: u32,
    pub parent: u32,
    pub start: u64,
    pub command: String,
    pub kernel: bool,
    /// Bytes read and written so far; `None` where this user may not see them.
    pub bytes: Option<[u64; 2]>,
}

/// The I/O of a process since the last read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessIo {
    pub pid: u32,
    pub parent: u32,
    start: u64,
    /// Its command, as the kernel names it.
    pub command: String,
    /// Bytes read and written; `None` where this user may not see them.
    pub bytes: Option<[u64; 2]>,
}

impl ProcessIo {
    pub fn identity(&self) -> ProcessIdentity {
        (self.pid, self.start)
    }
}

/// The state of a process between two reads.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TrackedProcess {
    parent: u32,
    /// Bytes read and written so far.
    last: [u64; 2],
}

/// Reads the I/O of all processes repeatedly.
#[derive(Debug)]
pub(crate) struct ProcessIoTracker {
    proc: PathBuf,
    tracked: HashMap<ProcessIdentity, TrackedProcess>,
    /// Whether nothing was read yet: earlier I/O is not counted.
    is_first: bool,
}

impl ProcessIoTracker {
    pub(crate) fn of_host() -> Self {
        Self::new(PathBuf::from("/proc"))
    }

    pub(super) fn new(proc: PathBuf) -> Self {
        Self { proc, tracked: HashMap::new(), is_first: true }
    }

    pub(super) fn proc(&self) -> &Path {
        &self.proc
    }

    /// Every process except kernel tasks, with its I/O since the last read.
    pub(crate) fn read(&mut self) -> Vec<ProcessIo> {
        self.update(&read_processes(&self.proc))
    }

    pub(super) fn update(&mut self, stats: &[ProcessStat]) -> Vec<ProcessIo> {
        let mut inherited = self.inherited(stats);
        let mut living = HashMap::new();
        let mut all_io = Vec::new();
        for process in stats.iter().filter(|process| !process.kernel) {
            let identity = (process.pid, process.start);
            let now = process.bytes.unwrap_or_default();
            let last =
                self.tracked.get(&identity).map_or(if self.is_first { now } else { [0; 2] }, |tracked| tracked.last);
            let of_children = inherited.remove(&process.pid).unwrap_or_default();
            let bytes = [0, 1].map(|place| now[place].saturating_sub(last[place]).saturating_sub(of_children[place]));
            let last = [0, 1].map(|place| last[place].max(now[place]));
            living.insert(identity, TrackedProcess { parent: process.parent, last });
            all_io.push(ProcessIo {
                pid: process.pid,
                parent: process.parent,
                start: process.start,
                command: process.command.clone(),
                bytes: process.bytes.map(|_| bytes),
            });
        }
        self.tracked = living;
        self.is_first = false;
        all_io
    }

    /// The I/O of children that ended since the last read, by the process that received it: the kernel adds the I/O of
    /// a child's whole life to its parent, and it was already counted for the child.
    fn inherited(&self, stats: &[ProcessStat]) -> HashMap<u32, [u64; 2]> {
        let living: HashSet<ProcessIdentity> = stats.iter().map(|process| (process.pid, process.start)).collect();
        let ended = self.tracked.iter().filter(|(identity, _)| !living.contains(identity));
        let ended: HashMap<u32, &TrackedProcess> = ended.map(|((pid, _), tracked)| (*pid, tracked)).collect();
        let mut inherited: HashMap<u32, [u64; 2]> = HashMap::new();
        for child in ended.values() {
            // A parent that ended as well has passed it on.
            let parents = std::iter::successors(Some(child.parent), |pid| Some(ended.get(pid)?.parent));
            let Some(receiver) = parents.take(MAX_ANCESTORS).last() else { continue };
            let received = inherited.entry(receiver).or_default();
            for (received, last) in received.iter_mut().zip(child.last) {
                *received = received.saturating_add(last);
            }
        }
        inherited
    }
}

fn read_processes(proc: &Path) -> Vec<ProcessStat> {
    let Ok(entries) = fs::read_dir(proc) else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| process(proc, pid)).collect()
}

/// The process `pid`; `None` if it is gone by now.
fn process(proc: &Path, pid: u32) -> Option<ProcessStat> {
    let folder = proc.join(pid.to_string());
    let stat = read_stat(pid, &fs::read_to_string(folder.join("stat")).ok()?)?;
    if stat.kernel {
        return Some(stat);
    }
    let bytes = fs::read_to_string(folder.join("io")).ok().and_then(|io| {
        let bytes = |key| field(&io, key).map(|bytes| bytes as u64);
        Some([bytes("read_bytes:")?, bytes("write_bytes:")?])
    });
    Some(ProcessStat { bytes, ..stat })
}

/// A process from the text of `/proc/PID/stat`.
fn read_stat(pid: u32, stat: &str) -> Option<ProcessStat> {
    let (open, close) = (stat.find('(')?, stat.rfind(')')?);
    let command = stat.get(open + 1..close)?.to_owned();
    let fields: Vec<&str> = stat.get(close + 1..)?.split_ascii_whitespace().collect();
    // The first field after the command is number 3.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let parent = u32::try_from(number(4)?).ok()?;
    let kernel = number(9)? & KERNEL_TASK != 0;
    Some(ProcessStat { pid, parent, start: number(22)?, command, kernel, bytes: None })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub const MIB: u64 = 1 << 20;

    pub fn process_stat(pid: u32, parent: u32, command: &str, bytes: Option<[u64; 2]>) -> ProcessStat {
        ProcessStat { pid, parent, start: u64::from(pid) * 10, command: command.to_owned(), kernel: false, bytes }
    }

    /// The I/O at the last of several reads.
    pub fn process_io_of(reads: &[Vec<ProcessStat>]) -> Vec<ProcessIo> {
        let mut tracker = tracker();
        reads.iter().map(|stats| tracker.update(stats)).last().unwrap()
    }

    fn tracker() -> ProcessIoTracker {
        ProcessIoTracker::new(PathBuf::from("/nowhere"))
    }

    fn moved(processes: &[ProcessIo]) -> Vec<(u32, [u64; 2])> {
        let moved = processes.iter().filter_map(|process| Some((process.pid, process.bytes?)));
        moved.filter(|(_, bytes)| *bytes != [0; 2]).collect()
    }

    #[test]
    fn the_first_read_counts_nothing_and_a_later_one_all_io_of_a_new_process() {
        let mut tracker = tracker();
        assert_eq!(moved(&tracker.update(&[process_stat(50, 1, "backup", Some([900 * MIB, 0]))])), []);
        let next = tracker.update(&[
            process_stat(50, 1, "backup", Some([905 * MIB, 0])),
            process_stat(60, 1, "dd", Some([0, 3 * MIB])),
        ]);
        assert_eq!(moved(&next), [(50, [5 * MIB, 0]), (60, [0, 3 * MIB])]);
    }

    #[test]
    fn io_of_ended_children_is_not_counted_again_in_their_parent() {
        let mut tracker = tracker();
        let shell = |read| process_stat(50, 1, "sh", Some([read, 0]));
        // The child read much before the first read.
        tracker.update(&[
            shell(0),
            process_stat(51, 50, "tar", Some([900 * MIB, 0])),
            process_stat(52, 51, "gzip", Some([0, 0])),
        ]);
        let next = tracker.update(&[
            shell(0),
            process_stat(51, 50, "tar", Some([910 * MIB, 0])),
            process_stat(52, 51, "gzip", Some([5 * MIB, 0])),
        ]);
        assert_eq!(moved(&next), [(51, [10 * MIB, 0]), (52, [5 * MIB, 0])]);
        // Both end: the kernel adds their I/O to the shell, and 2 MiB that no read saw.
        assert_eq!(moved(&tracker.update(&[shell(917 * MIB)])), [(50, [2 * MIB, 0])]);
        assert_eq!(moved(&tracker.update(&[shell(917 * MIB)])), []);
    }

    #[test]
    fn a_reused_pid_is_another_process() {
        let mut tracker = tracker();
        tracker.update(&[process_stat(50, 1, "first", Some([10 * MIB, 0]))]);
        let again = ProcessStat { start: 9_999, ..process_stat(50, 1, "second", Some([2 * MIB, 0])) };
        assert_eq!(moved(&tracker.update(&[again])), [(50, [2 * MIB, 0])]);
    }

    #[test]
    fn kernel_tasks_are_left_out_and_hidden_io_is_unknown() {
        let kernel = ProcessStat { kernel: true, ..process_stat(2, 0, "kworker", None) };
        let all = tracker().update(&[process_stat(50, 1, "secret", None), kernel]);
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].pid, all[0].bytes), (50, None));
    }

    #[test]
    fn a_command_may_contain_brackets_and_blanks() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 2097152 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0";
        let seen = read_stat(7, stat).unwrap();
        assert_eq!((seen.command.as_str(), seen.parent, seen.start, seen.kernel), ("a) b (c", 1, 4242, true));
        assert_eq!(read_stat(7, "7 (a"), None);
    }

    #[test]
    fn this_process_is_read() {
        let own = process(Path::new("/proc"), std::process::id()).unwrap();
        assert!(!own.kernel && own.bytes.is_some());
    }
}
