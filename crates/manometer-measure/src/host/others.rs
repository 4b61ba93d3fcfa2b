//! Processes that are none of ours and use storage, looked at rarely, for there are many.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::columns::table;
use super::movers::{Identity, MAX_ANCESTORS, Mover, Movers};
use super::{Observer, PhaseBoundary, Rates, Raw, servers};
use crate::event::Event;
use crate::samples::Column;

/// How often all processes are looked at.
const LOOK_EVERY_NS: u64 = 10_000_000_000;

/// A process that moved no more than this in a phase is not told of.
const TOLD_FROM_BYTES: u64 = 1 << 20;

/// So many processes are told of at the end of a phase, those that moved the most.
const MAX_TOLD: usize = 16;

pub(super) fn columns() -> Vec<Column> {
    let mut columns = table(
        "/proc/<PID>/io",
        &[
            ("read_bytes", "B/s", "Bytes that processes which are not ours caused to be read, from any device."),
            ("write_bytes", "B/s", "Bytes that processes which are not ours caused to be written, to any device."),
        ],
    );
    let hidden = "Processes which are not ours and whose I/O this user may not see.";
    columns.push(Column::new("hidden_processes", "").meaning(hidden).from("/proc/<PID>/io"));
    columns
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    command: String,
    /// Whether it is ours: the conductor, begun by one of ours, or a server that a workload drives.
    ours: bool,
    /// Bytes read and written in this phase.
    phase: [u64; 2],
    living: bool,
}

#[derive(Debug)]
pub(super) struct Others {
    movers: Movers,
    /// The conductor, and the workers: in a container these are no descendants of it.
    ours: Vec<u32>,
    /// Where the servers that workloads drive answer, as far as they are on this host.
    servers: Vec<SocketAddr>,
    known: HashMap<Identity, Known>,
    total: [u64; 2],
    hidden: usize,
    next_ns: u64,
    rates: Rates,
}

impl Others {
    pub(super) fn of_host() -> Self {
        Self::new(PathBuf::from("/proc"), std::process::id())
    }

    fn new(proc: PathBuf, conductor: u32) -> Self {
        Self {
            movers: Movers::new(proc),
            ours: vec![conductor],
            servers: Vec::new(),
            known: HashMap::new(),
            total: [0; 2],
            hidden: 0,
            next_ns: 0,
            rates: Rates::default(),
        }
    }

    fn look(&mut self) {
        let movers = self.movers.look();
        self.account(&movers);
    }

    /// Adds what the processes moved since the last look.
    fn account(&mut self, movers: &[Mover]) {
        let ours = self.ours(movers);
        self.known.values_mut().for_each(|known| known.living = false);
        self.hidden = 0;
        for (process, ours) in movers.iter().zip(ours) {
            if process.bytes.is_none() && !ours {
                self.hidden += 1;
            }
            let known = self.known.entry(process.identity()).or_insert_with(|| Known {
                command: String::new(),
                ours,
                phase: [0; 2],
                living: true,
            });
            known.living = true;
            known.ours |= ours;
            // A process takes its program's name only after it has begun.
            known.command.clone_from(&process.command);
            if !known.ours {
                for (place, moved) in process.bytes.unwrap_or_default().into_iter().enumerate() {
                    known.phase[place] += moved;
                    self.total[place] += moved;
                }
            }
        }
        self.known.retain(|_, known| known.living || known.phase != [0; 2]);
    }

    /// Which of the processes are ours.
    fn ours(&self, movers: &[Mover]) -> Vec<bool> {
        let by_pid: HashMap<u32, &Mover> = movers.iter().map(|process| (process.pid, process)).collect();
        let known = |process: &Mover| self.known.get(&process.identity()).is_some_and(|known| known.ours);
        let is_ours = |process: &Mover| {
            let ancestors = std::iter::successors(Some(process), |process| by_pid.get(&process.parent).copied());
            ancestors.take(MAX_ANCESTORS).any(|process| self.ours.contains(&process.pid) || known(process))
        };
        movers.iter().map(is_ours).collect()
    }

    /// Takes the processes of servers that workloads drive for ours; returns those that were not, with their programs.
    fn adopt(&mut self, pids: &[u32]) -> Vec<(u32, String)> {
        let mut adopted = Vec::new();
        for ((pid, _), known) in &mut self.known {
            if pids.contains(pid) && known.living && !known.ours {
                (known.ours, known.phase) = (true, [0; 2]);
                adopted.push((*pid, known.command.clone()));
            }
        }
        adopted.sort();
        adopted
    }

    /// Looks again for the servers that workloads drive: one may have begun anew.
    fn adopt_servers(&mut self) -> Vec<(u32, String)> {
        if self.servers.is_empty() {
            return Vec::new();
        }
        self.adopt(&servers::listeners(self.movers.proc(), &self.servers))
    }

    /// Those that moved the most in this phase, the first of all first.
    fn strangers(&self) -> Vec<Event> {
        let moved = |known: &Known| known.phase[0].saturating_add(known.phase[1]);
        let mut told: Vec<(&Identity, &Known)> =
            self.known.iter().filter(|(_, known)| moved(known) > TOLD_FROM_BYTES).collect();
        told.sort_by_key(|(identity, known)| (std::cmp::Reverse(moved(known)), **identity));
        told.truncate(MAX_TOLD);
        let event = |(identity, known): (&Identity, &Known)| Event::ForeignProcess {
            pid: identity.0,
            command: known.command.clone(),
            read_bytes: known.phase[0],
            written_bytes: known.phase[1],
        };
        told.into_iter().map(event).collect()
    }
}

impl Observer for Others {
    fn source(&self) -> &str {
        "others"
    }

    fn columns(&self) -> Vec<Column> {
        columns()
    }

    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        if t_ns < self.next_ns {
            return Vec::new();
        }
        self.next_ns = t_ns.saturating_add(LOOK_EVERY_NS);
        self.look();
        let [read, written] = self.total.map(|bytes| Raw::Total(Some(bytes as f64)));
        self.rates.row(t_ns, vec![read, written, Raw::Now(Some(self.hidden as f64))])
    }

    fn add_worker(&mut self, pid: u32) {
        self.ours.push(pid);
    }

    fn add_server(&mut self, workload: &str, addresses: &str) -> Vec<Event> {
        self.servers.extend(servers::places_here(addresses));
        self.look();
        let note = |(pid, command): (u32, String)| Event::Note {
            workload: workload.to_owned(),
            text: format!("its server is `{command}` (process {pid}) on this host: what that moves is the workload's"),
        };
        self.adopt_servers().into_iter().map(note).collect()
    }

    fn phase_boundary(&mut self, _: u64, boundary: PhaseBoundary) -> Vec<Event> {
        self.look();
        self.adopt_servers();
        let events = match boundary {
            PhaseBoundary::Begin => Vec::new(),
            PhaseBoundary::End => self.strangers(),
        };
        self.known.values_mut().for_each(|known| known.phase = [0; 2]);
        events
    }
}

#[cfg(test)]
mod tests {
    use super::super::movers::Seen;
    use super::super::movers::tests::{MIB, seen};
    use super::*;

    fn others() -> Others {
        Others::new(PathBuf::from("/nowhere"), 100)
    }

    impl Others {
        fn see(&mut self, seen: &[Seen]) {
            let movers = self.movers.account(seen);
            self.account(&movers);
        }
    }

    fn told(others: &Others) -> Vec<(u32, u64, u64)> {
        let event = |event: Event| match event {
            Event::ForeignProcess { pid, read_bytes, written_bytes, .. } => (pid, read_bytes, written_bytes),
            other => panic!("{other:?}"),
        };
        others.strangers().into_iter().map(event).collect()
    }

    #[test]
    fn only_strangers_count_and_only_from_the_first_look_on() {
        let mut others = others();
        let conductor = seen(100, 1, "manometer", Some([0, 0]));
        let worker = |bytes| seen(101, 100, "manometer", Some([bytes, bytes]));
        let backup = |read| seen(50, 1, "backup", Some([read, 0]));
        others.see(&[conductor.clone(), worker(0), backup(900 * MIB)]);
        let dd = seen(60, 1, "dd", Some([0, 3 * MIB]));
        others.see(&[conductor.clone(), worker(70 * MIB), backup(905 * MIB), dd]);
        assert_eq!(others.total, [5 * MIB, 3 * MIB]);
        assert_eq!(told(&others), [(50, 5 * MIB, 0), (60, 0, 3 * MIB)]);
        // It is gone, and was there in this phase.
        others.see(&[conductor, worker(80 * MIB), backup(905 * MIB)]);
        assert_eq!(told(&others).len(), 2);
    }

    #[test]
    fn what_ours_began_stays_ours_when_its_parent_is_gone() {
        let mut others = others();
        let conductor = seen(100, 1, "manometer", Some([0, 0]));
        let (worker, server) = (seen(101, 100, "worker", Some([0, 0])), seen(102, 101, "server", Some([0, 0])));
        others.see(&[conductor.clone(), worker.clone()]);
        others.see(&[conductor.clone(), worker, server]);
        others.see(&[conductor, seen(102, 1, "server", Some([0, 9 * MIB]))]);
        assert!(told(&others).is_empty());
    }

    #[test]
    fn a_worker_in_a_container_is_ours_whoever_its_parent_is() {
        let mut others = others();
        let shim = seen(80, 1, "containerd-shim", Some([0, 0]));
        others.add_worker(81);
        others.see(std::slice::from_ref(&shim));
        others.see(&[
            shim,
            seen(81, 80, "manometer", Some([0, 9 * MIB])),
            seen(82, 81, "redis-server", Some([0, 5 * MIB])),
        ]);
        assert!(told(&others).is_empty());
    }

    #[test]
    fn a_server_that_a_workload_drives_is_ours_and_so_is_what_it_begins() {
        let mut others = others();
        let server = |written| seen(70, 1, "redis-server", Some([0, written]));
        let saver = |written| seen(71, 70, "redis-server", Some([0, written]));
        others.see(&[server(0)]);
        others.see(&[server(4 * MIB)]);
        assert_eq!(told(&others), [(70, 0, 4 * MIB)], "nobody has said that it is driven");
        assert_eq!(others.adopt(&[70, 4000]), [(70, "redis-server".to_owned())]);
        assert_eq!(others.adopt(&[70]), [], "it is told of once");
        others.see(&[server(9 * MIB), saver(8 * MIB)]);
        assert_eq!((told(&others), others.total), (Vec::new(), [0, 4 * MIB]));
    }

    #[test]
    fn the_process_that_listens_at_a_workloads_address_is_told_of() {
        // To the observer this process is a stranger.
        let mut others = Others::new(PathBuf::from("/proc"), u32::MAX);
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap().to_string();
        let own = format!("(process {}) on this host", std::process::id());
        let notes = others.add_server("db", &address);
        let told =
            |event: &Event| matches!(event, Event::Note { workload, text } if workload == "db" && text.contains(&own));
        assert!(notes.iter().any(told), "{notes:?}");
        assert_eq!(others.add_server("db", "192.0.2.1:6379"), [], "another host's");
    }

    #[test]
    fn hidden_processes_are_counted() {
        let mut others = others();
        others.see(&[seen(50, 1, "secret", None), seen(100, 1, "manometer", None)]);
        assert_eq!(others.hidden, 1);
    }

    #[test]
    fn a_phase_begins_at_nothing() {
        let mut others = others();
        let known = Known { command: "dd".to_owned(), ours: false, phase: [0, 5 * MIB], living: true };
        others.known.insert((50, 1), known);
        assert_eq!(others.phase_boundary(1, PhaseBoundary::Begin), []);
        assert_eq!(others.phase_boundary(2, PhaseBoundary::End), []);
    }
}
