//! What each process moved to and from storage since the last look: `/proc/*/io`, without the kernel's own tasks, and
//! without what the kernel adds to a process when its children end.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::kernel_file::field;

/// A process has no more ancestors than this.
pub(super) const MAX_ANCESTORS: usize = 256;

/// The flag of the kernel's own tasks, which read and write on others' behalf.
const KERNEL_TASK: u64 = 0x0020_0000;

/// A process's number and its start: numbers are used again.
pub(crate) type Identity = (u32, u64);

/// A process as it is seen in one look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub pid: u32,
    pub parent: u32,
    pub start: u64,
    pub command: String,
    pub kernel: bool,
    /// Bytes read and written so far; nothing where that is hidden.
    pub bytes: Option<[u64; 2]>,
}

/// A process and what it moved since the last look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mover {
    pub pid: u32,
    pub parent: u32,
    start: u64,
    /// Its program, as the kernel names it.
    pub command: String,
    /// Bytes read and written; nothing where that is hidden.
    pub bytes: Option<[u64; 2]>,
}

impl Mover {
    pub fn identity(&self) -> Identity {
        (self.pid, self.start)
    }
}

/// What is kept of a process from one look to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    parent: u32,
    /// Bytes read and written so far.
    last: [u64; 2],
}

/// Looks at all processes again and again.
#[derive(Debug)]
pub(crate) struct Movers {
    proc: PathBuf,
    known: HashMap<Identity, Known>,
    /// Whether nobody has looked yet: what processes moved before is not counted.
    fresh: bool,
}

impl Movers {
    pub(crate) fn of_host() -> Self {
        Self::new(PathBuf::from("/proc"))
    }

    pub(super) fn new(proc: PathBuf) -> Self {
        Self { proc, known: HashMap::new(), fresh: true }
    }

    pub(super) fn proc(&self) -> &Path {
        &self.proc
    }

    /// Every process that is none of the kernel's, with what it moved since the last look.
    pub(crate) fn look(&mut self) -> Vec<Mover> {
        self.account(&processes(&self.proc))
    }

    pub(super) fn account(&mut self, seen: &[Seen]) -> Vec<Mover> {
        let mut inherited = self.inherited(seen);
        let mut living = HashMap::new();
        let mut movers = Vec::new();
        for process in seen.iter().filter(|process| !process.kernel) {
            let identity = (process.pid, process.start);
            let now = process.bytes.unwrap_or_default();
            let last = self.known.get(&identity).map_or(if self.fresh { now } else { [0; 2] }, |known| known.last);
            let of_children = inherited.remove(&process.pid).unwrap_or_default();
            let moved = [0, 1].map(|place| now[place].saturating_sub(last[place]).saturating_sub(of_children[place]));
            let last = [0, 1].map(|place| last[place].max(now[place]));
            living.insert(identity, Known { parent: process.parent, last });
            movers.push(Mover {
                pid: process.pid,
                parent: process.parent,
                start: process.start,
                command: process.command.clone(),
                bytes: process.bytes.map(|_| moved),
            });
        }
        self.known = living;
        self.fresh = false;
        movers
    }

    /// What living processes got from children that ended since the last look, by process: the kernel adds to a
    /// process what its children moved in their whole lives, which was counted as theirs.
    fn inherited(&self, seen: &[Seen]) -> HashMap<u32, [u64; 2]> {
        let living: HashSet<Identity> = seen.iter().map(|process| (process.pid, process.start)).collect();
        let ended = self.known.iter().filter(|(identity, _)| !living.contains(identity));
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
pub(crate) mod tests {
    use super::*;

    pub const MIB: u64 = 1 << 20;

    pub fn seen(pid: u32, parent: u32, command: &str, bytes: Option<[u64; 2]>) -> Seen {
        Seen { pid, parent, start: u64::from(pid) * 10, command: command.to_owned(), kernel: false, bytes }
    }

    /// What the last of `looks` shows.
    pub fn movers_of(looks: &[Vec<Seen>]) -> Vec<Mover> {
        let mut movers = movers();
        looks.iter().map(|seen| movers.account(seen)).last().unwrap()
    }

    fn movers() -> Movers {
        Movers::new(PathBuf::from("/nowhere"))
    }

    fn moved(movers: &[Mover]) -> Vec<(u32, [u64; 2])> {
        let moved = movers.iter().filter_map(|mover| Some((mover.pid, mover.bytes?)));
        moved.filter(|(_, bytes)| *bytes != [0; 2]).collect()
    }

    #[test]
    fn the_first_look_counts_nothing_and_a_later_one_all_of_who_is_new() {
        let mut movers = movers();
        assert_eq!(moved(&movers.account(&[seen(50, 1, "backup", Some([900 * MIB, 0]))])), []);
        let next =
            movers.account(&[seen(50, 1, "backup", Some([905 * MIB, 0])), seen(60, 1, "dd", Some([0, 3 * MIB]))]);
        assert_eq!(moved(&next), [(50, [5 * MIB, 0]), (60, [0, 3 * MIB])]);
    }

    #[test]
    fn what_children_moved_is_not_counted_again_when_their_parent_gets_it() {
        let mut movers = movers();
        let shell = |read| seen(50, 1, "sh", Some([read, 0]));
        // The child had read much before anybody looked.
        movers.account(&[shell(0), seen(51, 50, "tar", Some([900 * MIB, 0])), seen(52, 51, "gzip", Some([0, 0]))]);
        let next = movers.account(&[
            shell(0),
            seen(51, 50, "tar", Some([910 * MIB, 0])),
            seen(52, 51, "gzip", Some([5 * MIB, 0])),
        ]);
        assert_eq!(moved(&next), [(51, [10 * MIB, 0]), (52, [5 * MIB, 0])]);
        // Both end, and the shell gets all of theirs and two that nobody saw.
        assert_eq!(moved(&movers.account(&[shell(917 * MIB)])), [(50, [2 * MIB, 0])]);
        assert_eq!(moved(&movers.account(&[shell(917 * MIB)])), []);
    }

    #[test]
    fn a_number_used_again_is_another_process() {
        let mut movers = movers();
        movers.account(&[seen(50, 1, "first", Some([10 * MIB, 0]))]);
        let again = Seen { start: 9_999, ..seen(50, 1, "second", Some([2 * MIB, 0])) };
        assert_eq!(moved(&movers.account(&[again])), [(50, [2 * MIB, 0])]);
    }

    #[test]
    fn the_kernels_tasks_are_left_out_and_who_hides_moves_nothing_that_is_known() {
        let kernel = Seen { kernel: true, ..seen(2, 0, "kworker", None) };
        let all = movers().account(&[seen(50, 1, "secret", None), kernel]);
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].pid, all[0].bytes), (50, None));
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
