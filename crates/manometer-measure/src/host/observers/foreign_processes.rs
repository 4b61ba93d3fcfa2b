//! I/O of foreign processes, sampled rarely because a host has many.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::super::listeners;
use super::super::observer::{Observer, ObserverKind, PhaseBoundary, boxed};
use super::super::process_io::{MAX_ANCESTORS, ProcessIdentity, ProcessIo, ProcessIoTracker};
use super::super::rates::{RateCalculator, RawValue};
use crate::event::Event;
use crate::samples::{Column, columns_from};

pub(super) const OBSERVER: ObserverKind = ObserverKind {
    series: "foreign_processes",
    description: "I/O of foreign processes, which do not belong to the experiment, every 10 s and at phase boundaries.",
    columns,
    create: |subject| boxed(subject.host_directory().map(|_| ForeignProcesses::of_host())),
};

/// How often all processes are read.
const READ_EVERY_NS: u64 = 10_000_000_000;

/// A process that did no more I/O than this in a phase is not reported.
const REPORT_MIN_BYTES: u64 = 1 << 20;

/// The most processes that are reported at the end of a phase, those with the most I/O.
const REPORT_MAX_PROCESSES: usize = 16;

fn columns() -> Vec<Column> {
    columns_from(
        "/proc/<PID>/io",
        &[
            ("read_bytes", "B/s", "Bytes that foreign processes read from any device."),
            ("write_bytes", "B/s", "Bytes that foreign processes wrote to any device."),
            ("hidden_processes", "", "Foreign processes whose I/O this user may not see."),
        ],
    )
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ProcessRecord {
    command: String,
    /// Whether it belongs to the experiment: the conductor, its descendants, or a server that a workload drives.
    is_own: bool,
    /// Bytes read and written in this phase.
    phase_bytes: [u64; 2],
    is_alive: bool,
}

#[derive(Debug)]
pub(super) struct ForeignProcesses {
    tracker: ProcessIoTracker,
    /// The conductor and the workers, which in a container are not descendants of the conductor.
    own_pids: Vec<u32>,
    /// The addresses on this host of servers that workloads drive.
    servers: Vec<SocketAddr>,
    records: HashMap<ProcessIdentity, ProcessRecord>,
    total_bytes: [u64; 2],
    hidden: usize,
    next_read_ns: u64,
    rates: RateCalculator,
}

impl ForeignProcesses {
    fn of_host() -> Self {
        Self::new(PathBuf::from("/proc"), std::process::id())
    }

    fn new(proc: PathBuf, conductor: u32) -> Self {
        Self {
            tracker: ProcessIoTracker::new(proc),
            own_pids: vec![conductor],
            servers: Vec::new(),
            records: HashMap::new(),
            total_bytes: [0; 2],
            hidden: 0,
            next_read_ns: 0,
            rates: RateCalculator::default(),
        }
    }

    fn read(&mut self) {
        let processes = self.tracker.read();
        self.add(&processes);
    }

    /// Adds the I/O of `processes` since the last read.
    fn add(&mut self, processes: &[ProcessIo]) {
        let own = self.own(processes);
        self.records.values_mut().for_each(|record| record.is_alive = false);
        self.hidden = 0;
        for (process, is_own) in processes.iter().zip(own) {
            if process.bytes.is_none() && !is_own {
                self.hidden += 1;
            }
            let record = self.records.entry(process.identity()).or_insert_with(|| ProcessRecord {
                command: String::new(),
                is_own,
                phase_bytes: [0; 2],
                is_alive: true,
            });
            record.is_alive = true;
            record.is_own |= is_own;
            // A process takes the name of its program only after its start.
            record.command.clone_from(&process.command);
            if !record.is_own {
                for (place, bytes) in process.bytes.unwrap_or_default().into_iter().enumerate() {
                    record.phase_bytes[place] += bytes;
                    self.total_bytes[place] += bytes;
                }
            }
        }
        self.records.retain(|_, record| record.is_alive || record.phase_bytes != [0; 2]);
    }

    /// Which of `processes` belong to the experiment.
    fn own(&self, processes: &[ProcessIo]) -> Vec<bool> {
        let by_pid: HashMap<u32, &ProcessIo> = processes.iter().map(|process| (process.pid, process)).collect();
        let was_own = |process: &ProcessIo| self.records.get(&process.identity()).is_some_and(|record| record.is_own);
        let is_own = |process: &ProcessIo| {
            let ancestors = std::iter::successors(Some(process), |process| by_pid.get(&process.parent).copied());
            ancestors.take(MAX_ANCESTORS).any(|process| self.own_pids.contains(&process.pid) || was_own(process))
        };
        processes.iter().map(is_own).collect()
    }

    /// Counts the processes `pids` as the experiment's own. Returns those that were foreign before, with their commands.
    fn claim(&mut self, pids: &[u32]) -> Vec<(u32, String)> {
        let mut claimed = Vec::new();
        for ((pid, _), record) in &mut self.records {
            if pids.contains(pid) && record.is_alive && !record.is_own {
                (record.is_own, record.phase_bytes) = (true, [0; 2]);
                claimed.push((*pid, record.command.clone()));
            }
        }
        claimed.sort();
        claimed
    }

    /// Claims the processes of the servers that workloads drive. A server may have restarted since the last time.
    fn claim_servers(&mut self) -> Vec<(u32, String)> {
        if self.servers.is_empty() {
            return Vec::new();
        }
        self.claim(&listeners::listeners(self.tracker.proc(), &self.servers))
    }

    /// The foreign processes with the most I/O in this phase, most first.
    fn largest(&self) -> Vec<Event> {
        let bytes = |record: &ProcessRecord| record.phase_bytes[0].saturating_add(record.phase_bytes[1]);
        let mut largest: Vec<(&ProcessIdentity, &ProcessRecord)> =
            self.records.iter().filter(|(_, record)| bytes(record) > REPORT_MIN_BYTES).collect();
        largest.sort_by_key(|(identity, record)| (std::cmp::Reverse(bytes(record)), **identity));
        largest.truncate(REPORT_MAX_PROCESSES);
        let event = |(identity, record): (&ProcessIdentity, &ProcessRecord)| Event::ForeignProcess {
            pid: identity.0,
            command: record.command.clone(),
            read_bytes: record.phase_bytes[0],
            written_bytes: record.phase_bytes[1],
        };
        largest.into_iter().map(event).collect()
    }
}

impl Observer for ForeignProcesses {
    fn series(&self) -> &str {
        "foreign_processes"
    }

    fn columns(&self) -> Vec<Column> {
        columns()
    }

    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        if t_ns < self.next_read_ns {
            return Vec::new();
        }
        self.next_read_ns = t_ns.saturating_add(READ_EVERY_NS);
        self.read();
        let [read, written] = self.total_bytes.map(|bytes| RawValue::Counter(Some(bytes as f64)));
        self.rates.rates(t_ns, vec![read, written, RawValue::Gauge(Some(self.hidden as f64))])
    }

    fn add_worker(&mut self, pid: u32) {
        self.own_pids.push(pid);
    }

    fn add_server(&mut self, workload: &str, addresses: &str) -> Vec<Event> {
        self.servers.extend(listeners::local_addresses(addresses));
        self.read();
        let note = |(pid, command): (u32, String)| Event::Note {
            workload: workload.to_owned(),
            text: format!("its server is `{command}` (process {pid}) on this host: its I/O counts as the workload's"),
        };
        self.claim_servers().into_iter().map(note).collect()
    }

    fn phase_boundary(&mut self, _: u64, boundary: PhaseBoundary) -> Vec<Event> {
        self.read();
        self.claim_servers();
        let events = match boundary {
            PhaseBoundary::Begin => Vec::new(),
            PhaseBoundary::End => self.largest(),
        };
        self.records.values_mut().for_each(|record| record.phase_bytes = [0; 2]);
        events
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::process_io::ProcessStat;
    use super::super::super::process_io::tests::{MIB, process_stat};
    use super::*;

    fn observer() -> ForeignProcesses {
        ForeignProcesses::new(PathBuf::from("/nowhere"), 100)
    }

    impl ForeignProcesses {
        fn update(&mut self, stats: &[ProcessStat]) {
            let processes = self.tracker.update(stats);
            self.add(&processes);
        }
    }

    fn reported(observer: &ForeignProcesses) -> Vec<(u32, u64, u64)> {
        let event = |event: Event| match event {
            Event::ForeignProcess { pid, read_bytes, written_bytes, .. } => (pid, read_bytes, written_bytes),
            other => panic!("{other:?}"),
        };
        observer.largest().into_iter().map(event).collect()
    }

    #[test]
    fn only_foreign_processes_count_and_only_after_the_first_read() {
        let mut observer = observer();
        let conductor = process_stat(100, 1, "manometer", Some([0, 0]));
        let worker = |bytes| process_stat(101, 100, "manometer", Some([bytes, bytes]));
        let backup = |read| process_stat(50, 1, "backup", Some([read, 0]));
        observer.update(&[conductor.clone(), worker(0), backup(900 * MIB)]);
        let dd = process_stat(60, 1, "dd", Some([0, 3 * MIB]));
        observer.update(&[conductor.clone(), worker(70 * MIB), backup(905 * MIB), dd]);
        assert_eq!(observer.total_bytes, [5 * MIB, 3 * MIB]);
        assert_eq!(reported(&observer), [(50, 5 * MIB, 0), (60, 0, 3 * MIB)]);
        // dd has ended, but did its I/O in this phase.
        observer.update(&[conductor, worker(80 * MIB), backup(905 * MIB)]);
        assert_eq!(reported(&observer).len(), 2);
    }

    #[test]
    fn a_descendant_stays_own_when_its_parent_is_gone() {
        let mut observer = observer();
        let conductor = process_stat(100, 1, "manometer", Some([0, 0]));
        let worker = process_stat(101, 100, "worker", Some([0, 0]));
        let server = process_stat(102, 101, "server", Some([0, 0]));
        observer.update(&[conductor.clone(), worker.clone()]);
        observer.update(&[conductor.clone(), worker, server]);
        observer.update(&[conductor, process_stat(102, 1, "server", Some([0, 9 * MIB]))]);
        assert!(reported(&observer).is_empty());
    }

    #[test]
    fn a_worker_in_a_container_is_own_whatever_its_parent() {
        let mut observer = observer();
        let shim = process_stat(80, 1, "containerd-shim", Some([0, 0]));
        observer.add_worker(81);
        observer.update(std::slice::from_ref(&shim));
        observer.update(&[
            shim,
            process_stat(81, 80, "manometer", Some([0, 9 * MIB])),
            process_stat(82, 81, "redis-server", Some([0, 5 * MIB])),
        ]);
        assert!(reported(&observer).is_empty());
    }

    #[test]
    fn a_server_that_a_workload_drives_is_own_and_so_are_its_children() {
        let mut observer = observer();
        let server = |written| process_stat(70, 1, "redis-server", Some([0, written]));
        let saver = |written| process_stat(71, 70, "redis-server", Some([0, written]));
        observer.update(&[server(0)]);
        observer.update(&[server(4 * MIB)]);
        assert_eq!(reported(&observer), [(70, 0, 4 * MIB)], "not registered yet");
        assert_eq!(observer.claim(&[70, 4000]), [(70, "redis-server".to_owned())]);
        assert_eq!(observer.claim(&[70]), [], "it is claimed once");
        observer.update(&[server(9 * MIB), saver(8 * MIB)]);
        assert_eq!((reported(&observer), observer.total_bytes), (Vec::new(), [0, 4 * MIB]));
    }

    #[test]
    fn the_process_that_listens_at_a_workloads_address_is_noted() {
        // To this observer, this process is foreign.
        let mut observer = ForeignProcesses::new(PathBuf::from("/proc"), u32::MAX);
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap().to_string();
        let own = format!("(process {}) on this host", std::process::id());
        let notes = observer.add_server("db", &address);
        let is_own =
            |event: &Event| matches!(event, Event::Note { workload, text } if workload == "db" && text.contains(&own));
        assert!(notes.iter().any(is_own), "{notes:?}");
        assert_eq!(observer.add_server("db", "192.0.2.1:6379"), [], "another host's");
    }

    #[test]
    fn hidden_processes_are_counted() {
        let mut observer = observer();
        observer.update(&[process_stat(50, 1, "secret", None), process_stat(100, 1, "manometer", None)]);
        assert_eq!(observer.hidden, 1);
    }

    #[test]
    fn a_phase_starts_at_zero() {
        let mut observer = observer();
        let record =
            ProcessRecord { command: "dd".to_owned(), is_own: false, phase_bytes: [0, 5 * MIB], is_alive: true };
        observer.records.insert((50, 1), record);
        assert_eq!(observer.phase_boundary(1, PhaseBoundary::Begin), []);
        assert_eq!(observer.phase_boundary(2, PhaseBoundary::End), []);
    }
}
