//! A worker process: `/proc/PID/{stat,io,status}`, and the context switches of its threads.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::kernel_file::{KernelFile, field};
use super::super::observer::{Observer, ObserverKind, Subject, boxed};
use super::super::rates::{RateCalculator, RawValue};
use crate::samples::{Column, columns_from};

pub(super) const OBSERVER: ObserverKind = ObserverKind {
    series: "process.<workload>",
    description: "The worker process of a workload; `process.conductor` is the process that records.",
    columns,
    create: |subject| match *subject {
        Subject::Host { .. } => Vec::new(),
        Subject::Worker { workload, pid, .. } => boxed([WorkerProcess::new(workload, pid)]),
        Subject::Conductor { .. } => boxed([WorkerProcess::new("conductor", std::process::id())]),
    },
};

/// With more threads than this, reading the file of each costs more than it is worth.
const MAX_THREADS: usize = 512;

const STAT: [(&str, &str, &str); 2] =
    [("user", "cores", "Processor time in user mode."), ("system", "cores", "Processor time in the kernel.")];
const IO: [(&str, &str, &str); 2] = [
    ("read_bytes", "B/s", "Bytes read from storage."),
    ("write_bytes", "B/s", "Bytes written to storage, or left dirty in the page cache."),
];
const STATE: [(&str, &str, &str); 2] = [("resident", "B", "Resident memory."), ("threads", "", "Threads.")];
const MORE_IO: [(&str, &str, &str); 5] = [
    ("cancelled_write_bytes", "B/s", "Dirty bytes that were not written because the file was deleted or truncated."),
    ("read_calls", "1/s", "Read system calls."),
    ("write_calls", "1/s", "Write system calls."),
    ("called_read_bytes", "B/s", "Bytes returned by read system calls, also from the page cache."),
    ("called_write_bytes", "B/s", "Bytes passed to write system calls, also to pipes and sockets."),
];
const FAULTS: [(&str, &str, &str); 3] = [
    ("minor_faults", "1/s", "Page faults without I/O."),
    ("major_faults", "1/s", "Page faults that needed I/O."),
    ("io_delay", "s/s", "Time spent waiting for block I/O, if the kernel accounts for delays."),
];
const STATUS: [(&str, &str, &str); 3] = [
    ("resident_anonymous", "B", "Resident anonymous memory."),
    ("resident_file", "B", "Resident mapped files."),
    ("swap", "B", "Memory in swap space."),
];
const SWITCHES: [(&str, &str, &str); 2] = [
    ("voluntary_switches", "1/s", "Voluntary context switches of its threads: a thread waits."),
    ("forced_switches", "1/s", "Involuntary context switches of its threads: a thread loses its core."),
];

pub(super) fn columns() -> Vec<Column> {
    let (stat, io, status) = ("/proc/<PID>/stat", "/proc/<PID>/io", "/proc/<PID>/status");
    [
        columns_from(stat, &STAT),
        columns_from(io, &IO),
        columns_from(stat, &STATE),
        columns_from(io, &MORE_IO),
        columns_from(stat, &FAULTS),
        columns_from(status, &STATUS),
        columns_from("/proc/<PID>/task/*/status", &SWITCHES),
    ]
    .concat()
}

#[derive(Debug)]
pub(super) struct WorkerProcess {
    source: String,
    stat: KernelFile,
    io: KernelFile,
    status: KernelFile,
    threads: Threads,
    rates: RateCalculator,
}

impl WorkerProcess {
    pub(super) fn new(name: &str, pid: u32) -> Self {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        Self {
            source: format!("process.{name}"),
            stat: KernelFile::new(folder.join("stat")),
            io: KernelFile::new(folder.join("io")),
            status: KernelFile::new(folder.join("status")),
            threads: Threads::new(&folder),
            rates: RateCalculator::default(),
        }
    }
}

impl Observer for WorkerProcess {
    fn series(&self) -> &str {
        &self.source
    }

    fn columns(&self) -> Vec<Column> {
        columns()
    }

    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        let stat = numbers(self.stat.read().unwrap_or_default());
        let ticks_per_s = procfs::ticks_per_second() as f64;
        let at = |field: usize| stat.get(field - FIRST_FIELD).copied().flatten();
        let seconds = |field: usize| RawValue::Counter(at(field).map(|ticks| ticks / ticks_per_s));
        // The I/O of another user's worker is not visible.
        let io = self.io.read().unwrap_or_default();
        let io = |key: &str| RawValue::Counter(field(io, key));
        let status = self.status.read().unwrap_or_default();
        let bytes = |key: &str| RawValue::Gauge(kib(status, key).map(|kib| kib * 1024.0));
        let [voluntary, forced] = self.threads.switches();
        let raws = vec![
            seconds(14),
            seconds(15),
            io("read_bytes:"),
            io("write_bytes:"),
            RawValue::Gauge(at(24).map(|pages| pages * procfs::page_size() as f64)),
            RawValue::Gauge(at(20)),
            io("cancelled_write_bytes:"),
            io("syscr:"),
            io("syscw:"),
            io("rchar:"),
            io("wchar:"),
            RawValue::Counter(at(10)),
            RawValue::Counter(at(12)),
            seconds(42),
            bytes("RssAnon:"),
            bytes("RssFile:"),
            bytes("VmSwap:"),
            RawValue::Counter(voluntary),
            RawValue::Counter(forced),
        ];
        self.rates.rates(t_ns, raws)
    }
}

/// The number of the first field after the command in `/proc/PID/stat`, as in proc(5).
const FIRST_FIELD: usize = 3;

/// The fields after the command, which may itself contain blanks and brackets.
fn numbers(stat: &str) -> Vec<Option<f64>> {
    let rest = stat.rfind(')').map_or("", |bracket| &stat[bracket + 1..]);
    rest.split_ascii_whitespace().map(|field| field.parse().ok()).collect()
}

fn kib(status: &str, key: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// The context switches of all threads. The kernel counts them per thread and drops the counts of a thread that ends.
#[derive(Debug)]
struct Threads {
    folder: PathBuf,
    /// The file of each thread and its last counts.
    known: HashMap<String, (KernelFile, [f64; 2])>,
    total: [f64; 2],
}

impl Threads {
    fn new(process: &Path) -> Self {
        Self { folder: process.join("task"), known: HashMap::new(), total: [0.0; 2] }
    }

    /// The voluntary and involuntary switches so far; `None` for a process that is gone or has too many threads.
    fn switches(&mut self) -> [Option<f64>; 2] {
        let Ok(entries) = fs::read_dir(&self.folder) else { return [None; 2] };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let living: Vec<String> = names.take(MAX_THREADS + 1).collect();
        if living.is_empty() || living.len() > MAX_THREADS {
            return [None; 2];
        }
        self.known.retain(|name, _| living.contains(name));
        for name in living {
            let path = self.folder.join(&name).join("status");
            let (file, last) = self.known.entry(name).or_insert_with(|| (KernelFile::new(path), [0.0; 2]));
            let Some(now) = file.read().and_then(parse_switches) else { continue };
            for ((total, now), last) in self.total.iter_mut().zip(now).zip(last) {
                *total += (now - *last).max(0.0);
                *last = now;
            }
        }
        self.total.map(Some)
    }
}

fn parse_switches(status: &str) -> Option<[f64; 2]> {
    let number = |key: &str| {
        let line = status.lines().rev().find_map(|line| line.strip_prefix(key))?;
        line.trim().parse().ok()
    };
    Some([number("voluntary_ctxt_switches:")?, number("nonvoluntary_ctxt_switches:")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_brackets_hides_no_field() {
        let fields = numbers("7 (a) b) (c) S 1 7 7 0 -1 4194560 100 0 5 0 30 40");
        assert_eq!(fields[14 - FIRST_FIELD], Some(30.0));
        assert_eq!(fields[10 - FIRST_FIELD], Some(100.0));
        assert!(numbers("").is_empty());
    }

    #[test]
    fn switches_of_a_thread_that_ended_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let thread = |id: u32, voluntary: u32, forced: u32| {
            let folder = dir.path().join("task").join(id.to_string());
            fs::create_dir_all(&folder).unwrap();
            let text =
                format!("Name: a\nvoluntary_ctxt_switches:\t{voluntary}\nnonvoluntary_ctxt_switches:\t{forced}\n");
            fs::write(folder.join("status"), text).unwrap();
        };
        let mut threads = Threads::new(dir.path());
        assert_eq!(threads.switches(), [None; 2]);
        thread(1, 10, 1);
        thread(2, 5, 0);
        assert_eq!(threads.switches(), [Some(15.0), Some(1.0)]);
        fs::remove_dir_all(dir.path().join("task/2")).unwrap();
        thread(1, 11, 3);
        assert_eq!(threads.switches(), [Some(16.0), Some(3.0)]);
    }

    #[test]
    fn this_process_shows_its_memory_and_threads() {
        let mut own = WorkerProcess::new("self", std::process::id());
        let row = own.sample(1);
        let columns = columns();
        let at = |wanted: &str| row[columns.iter().position(|column| column.name == wanted).unwrap()];
        assert!(at("resident") > Some(0.0) && at("threads") >= Some(1.0));
        assert!(at("resident_anonymous") > Some(0.0));
    }
}
