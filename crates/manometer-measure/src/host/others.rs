//! Processes that are none of ours and use storage: `/proc/*/io`, looked at rarely, for there are many.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::columns::table;
use super::kernel_file::field;
use super::{Border, Observer, Rates, Raw};
use crate::event::Event;
use crate::samples::Column;

/// How often all processes are looked at.
const LOOK_EVERY_NS: u64 = 10_000_000_000;

/// A process that moved no more than this in a phase is not told of.
const TOLD_FROM_BYTES: u64 = 1 << 20;

/// So many processes are told of at the end of a phase, those that moved the most.
const MAX_TOLD: usize = 16;

/// A process has no more ancestors than this.
const MAX_ANCESTORS: usize = 256;

/// The flag of the kernel's own tasks, which read and write on others' behalf.
const KERNEL_TASK: u64 = 0x0020_0000;

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

/// A process's number and its start: numbers are used again.
type Identity = (u32, u64);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    command: String,
    parent: u32,
    /// Whether it is ours: the conductor, or begun by one of ours.
    ours: bool,
    /// Bytes read and written so far, as last seen, and in this phase.
    last: [u64; 2],
    phase: [u64; 2],
    living: bool,
}

#[derive(Debug)]
pub(super) struct Others {
    proc: PathBuf,
    /// The conductor.
    conductor: u32,
    known: HashMap<Identity, Known>,
    /// Whether nobody has looked yet: what processes moved before is not counted.
    fresh: bool,
    total: [u64; 2],
    hidden: usize,
    next_ns: u64,
    rates: Rates,
}

/// A process as it is seen in one look.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    pid: u32,
    parent: u32,
    start: u64,
    command: String,
    kernel: bool,
    /// Bytes read and written so far; nothing where that is hidden.
    bytes: Option<[u64; 2]>,
}

impl Others {
    pub(super) fn of_host() -> Self {
        Self::new(PathBuf::from("/proc"), std::process::id())
    }

    fn new(proc: PathBuf, conductor: u32) -> Self {
        Self {
            proc,
            conductor,
            known: HashMap::new(),
            fresh: true,
            total: [0; 2],
            hidden: 0,
            next_ns: 0,
            rates: Rates::default(),
        }
    }

    fn look(&mut self) {
        let seen = processes(&self.proc);
        self.account(&seen);
    }

    /// Adds what the processes moved since the last look.
    fn account(&mut self, seen: &[Seen]) {
        let ours = self.ours(seen);
        let mut inherited = self.inherited(seen);
        self.known.values_mut().for_each(|known| known.living = false);
        self.hidden = 0;
        for (process, ours) in seen.iter().zip(ours).filter(|(process, _)| !process.kernel) {
            if process.bytes.is_none() && !ours {
                self.hidden += 1;
            }
            let bytes = process.bytes.unwrap_or_default();
            let known = self.known.entry((process.pid, process.start)).or_insert_with(|| Known {
                command: String::new(),
                parent: process.parent,
                ours,
                last: if self.fresh { bytes } else { [0; 2] },
                phase: [0; 2],
                living: true,
            });
            known.living = true;
            known.parent = process.parent;
            known.ours |= ours;
            // A process takes its program's name only after it has begun.
            known.command.clone_from(&process.command);
            let of_children = inherited.remove(&process.pid).unwrap_or_default();
            for (place, now) in bytes.into_iter().enumerate() {
                let moved = now.saturating_sub(known.last[place]).saturating_sub(of_children[place]);
                known.last[place] = known.last[place].max(now);
                if !known.ours {
                    known.phase[place] += moved;
                    self.total[place] += moved;
                }
            }
        }
        self.known.retain(|_, known| known.living || known.phase != [0; 2]);
        self.fresh = false;
    }

    /// What living processes got from children that ended since the last look, by process: the kernel adds to a
    /// process what its children moved in their whole lives, which was counted as theirs.
    fn inherited(&self, seen: &[Seen]) -> HashMap<u32, [u64; 2]> {
        let living: HashSet<Identity> = seen.iter().map(|process| (process.pid, process.start)).collect();
        let ended = self.known.iter().filter(|(identity, known)| known.living && !living.contains(identity));
        let ended: HashMap<u32, &Known> = ended.map(|((pid, _), known)| (*pid, known)).collect();
        let mut inherited: HashMap<u32, [u64; 2]> = HashMap::new();
        for child in ended.values() {
            // A parent that ended as well has handed on what it got.
            let parents = std::iter::successors(Some(child.parent), |pid| Some(ended.get(pid)?.parent));
            let Some(heir) = parents.take(MAX_ANCESTORS).last() else { continue };
            let got = inherited.entry(heir).or_default();
            for (got, last) in got.iter_mut().zip(child.last) {
                *got = got.saturating_add(last);
            }
        }
        inherited
    }

    /// Which of the processes are ours.
    fn ours(&self, seen: &[Seen]) -> Vec<bool> {
        let by_pid: HashMap<u32, &Seen> = seen.iter().map(|process| (process.pid, process)).collect();
        let known = |process: &Seen| self.known.get(&(process.pid, process.start)).is_some_and(|known| known.ours);
        let is_ours = |process: &Seen| {
            let ancestors = std::iter::successors(Some(process), |process| by_pid.get(&process.parent).copied());
            ancestors.take(MAX_ANCESTORS).any(|process| process.pid == self.conductor || known(process))
        };
        seen.iter().map(is_ours).collect()
    }

    /// Those that moved the most in this phase, the first of all first.
    fn strangers(&self) -> Vec<Event> {
        let moved = |known: &Known| known.phase[0].saturating_add(known.phase[1]);
        let mut told: Vec<(&Identity, &Known)> =
            self.known.iter().filter(|(_, known)| moved(known) > TOLD_FROM_BYTES).collect();
        told.sort_by_key(|(identity, known)| (std::cmp::Reverse(moved(known)), **identity));
        told.truncate(MAX_TOLD);
        let event = |(identity, known): (&Identity, &Known)| Event::Stranger {
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

    fn border(&mut self, _: u64, border: Border) -> Vec<Event> {
        self.look();
        let events = match border {
            Border::Begin => Vec::new(),
            Border::End => self.strangers(),
        };
        self.known.values_mut().for_each(|known| known.phase = [0; 2]);
        events
    }
}

fn processes(proc: &Path) -> Vec<Seen> {
    let Ok(entries) = fs::read_dir(proc) else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| process(proc, pid)).collect()
}

/// The process `pid`; nothing for one that is gone by now.
fn process(proc: &Path, pid: u32) -> Option<Seen> {
    let folder = proc.join(pid.to_string());
    let seen = read_stat(pid, &fs::read_to_string(folder.join("stat")).ok()?)?;
    if seen.kernel {
        return Some(seen);
    }
    let bytes = fs::read_to_string(folder.join("io")).ok().and_then(|io| {
        let bytes = |key| field(&io, key).map(|bytes| bytes as u64);
        Some([bytes("read_bytes:")?, bytes("write_bytes:")?])
    });
    Some(Seen { bytes, ..seen })
}

/// What `/proc/PID/stat` tells.
fn read_stat(pid: u32, stat: &str) -> Option<Seen> {
    let (open, close) = (stat.find('(')?, stat.rfind(')')?);
    let command = stat.get(open + 1..close)?.to_owned();
    let fields: Vec<&str> = stat.get(close + 1..)?.split_ascii_whitespace().collect();
    // The first field behind the command is the third of all.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let parent = u32::try_from(number(4)?).ok()?;
    let kernel = number(9)? & KERNEL_TASK != 0;
    Some(Seen { pid, parent, start: number(22)?, command, kernel, bytes: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn seen(pid: u32, parent: u32, command: &str, bytes: Option<[u64; 2]>) -> Seen {
        Seen { pid, parent, start: u64::from(pid) * 10, command: command.to_owned(), kernel: false, bytes }
    }

    fn others() -> Others {
        Others::new(PathBuf::from("/nowhere"), 100)
    }

    fn told(others: &Others) -> Vec<(u32, u64, u64)> {
        let event = |event: Event| match event {
            Event::Stranger { pid, read_bytes, written_bytes, .. } => (pid, read_bytes, written_bytes),
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
        others.account(&[conductor.clone(), worker(0), backup(900 * MIB)]);
        others.account(&[
            conductor.clone(),
            worker(70 * MIB),
            backup(905 * MIB),
            seen(60, 1, "dd", Some([0, 3 * MIB])),
        ]);
        assert_eq!(others.total, [5 * MIB, 3 * MIB]);
        assert_eq!(told(&others), [(50, 5 * MIB, 0), (60, 0, 3 * MIB)]);
        // It is gone, and was there in this phase.
        others.account(&[conductor, worker(80 * MIB), backup(905 * MIB)]);
        assert_eq!(told(&others).len(), 2);
    }

    #[test]
    fn what_ours_began_stays_ours_when_its_parent_is_gone() {
        let mut others = others();
        let conductor = seen(100, 1, "manometer", Some([0, 0]));
        others.account(&[conductor.clone(), seen(101, 100, "worker", Some([0, 0]))]);
        others.account(&[
            conductor.clone(),
            seen(101, 100, "worker", Some([0, 0])),
            seen(102, 101, "server", Some([0, 0])),
        ]);
        others.account(&[conductor, seen(102, 1, "server", Some([0, 9 * MIB]))]);
        assert!(told(&others).is_empty());
    }

    #[test]
    fn what_children_moved_is_not_counted_again_when_their_parent_gets_it() {
        let mut others = others();
        let shell = |read| seen(50, 1, "sh", Some([read, 0]));
        // The child had read much before anybody looked.
        others.account(&[shell(0), seen(51, 50, "tar", Some([900 * MIB, 0])), seen(52, 51, "gzip", Some([0, 0]))]);
        others.account(&[
            shell(0),
            seen(51, 50, "tar", Some([910 * MIB, 0])),
            seen(52, 51, "gzip", Some([5 * MIB, 0])),
        ]);
        // Both end, and the shell gets all of theirs and two that nobody saw.
        others.account(&[shell(917 * MIB)]);
        assert_eq!(told(&others), [(51, 10 * MIB, 0), (52, 5 * MIB, 0), (50, 2 * MIB, 0)]);
        assert_eq!(others.total, [17 * MIB, 0]);
        others.account(&[shell(917 * MIB)]);
        assert_eq!(others.total, [17 * MIB, 0]);
    }

    #[test]
    fn a_number_used_again_is_another_process() {
        let mut others = others();
        others.account(&[seen(50, 1, "first", Some([10 * MIB, 0]))]);
        let again = Seen { start: 9_999, ..seen(50, 1, "second", Some([2 * MIB, 0])) };
        others.account(&[again]);
        assert_eq!(others.total, [2 * MIB, 0]);
    }

    #[test]
    fn hidden_processes_are_counted_and_kernel_tasks_are_not() {
        let mut others = others();
        let kernel = Seen { kernel: true, ..seen(2, 0, "kworker", None) };
        others.account(&[seen(50, 1, "secret", None), kernel]);
        assert_eq!(others.hidden, 1);
    }

    #[test]
    fn a_phase_begins_at_nothing() {
        let mut others = others();
        others.known.insert(
            (50, 1),
            Known { command: "dd".to_owned(), parent: 1, ours: false, last: [0, 0], phase: [0, 5 * MIB], living: true },
        );
        assert_eq!(others.border(1, Border::Begin), []);
        assert_eq!(others.border(2, Border::End), []);
    }

    #[test]
    fn a_command_may_hold_brackets_and_blanks() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 2097152 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0";
        let seen = read_stat(7, stat).unwrap();
        assert_eq!((seen.command.as_str(), seen.parent, seen.start, seen.kernel), ("a) b (c", 1, 4242, true));
        assert_eq!(read_stat(7, "7 (a"), None);
    }

    #[test]
    fn this_process_is_seen() {
        let own = process(Path::new("/proc"), std::process::id()).unwrap();
        assert!(!own.kernel && own.bytes.is_some());
    }
}
