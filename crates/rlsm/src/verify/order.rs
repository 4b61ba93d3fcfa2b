//! Whether a look-up finds the newest version of each key first.
//!
//! It asks the runs of Level 0, then those of the key's range, each from the newest to the oldest, and the first that has
//! the key answers. So of two runs that are asked one after another, the later one may hold no newer version of a key
//! than the former. Whole runs need not be in the order of their writes: of those of Level 0 without a key in common the
//! newer one may leave first. Nor is a version amiss that a delete of a range hides, wherever it lies.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::Sequence;
use crate::levels::{LiveRun, Range, Version};
use crate::merge::RangeDeletes;
use crate::plan::{Place, place};
use crate::run::READ_AHEAD_BYTES;

/// Hands every run that is asked too late to `tell`, with what is wrong.
pub(super) fn check(version: &Version, tell: &mut dyn FnMut(&LiveRun, String)) {
    check_level0(version, tell);
    let mut deletes = RangeDeletes::default();
    deletes.extend(version.level0.range_deletes());
    version.ranges.iter().for_each(|range| deletes.extend(range.runs.range_deletes()));
    for (number, range) in version.ranges.iter().enumerate() {
        let asked: Vec<&Arc<LiveRun>> = as_asked(version, range).collect();
        if !asked.is_sorted_by(|earlier, later| later.sequences.1 <= earlier.sequences.0) {
            check_range(version, number, &asked, &deletes, tell);
        }
    }
}

/// In Level 0, runs are as they were flushed: all writes of one come before all of the next.
fn check_level0(version: &Version, tell: &mut dyn FnMut(&LiveRun, String)) {
    let has_writes = |run: &&Arc<LiveRun>| run.entries > 0 || !run.range_deletes.is_empty();
    let runs: Vec<&Arc<LiveRun>> = version.level0.list().iter().filter(has_writes).collect();
    for pair in runs.windows(2).filter(|pair| pair[0].sequences.1 >= pair[1].sequences.0) {
        let (last, first) = (pair[0].sequences.1, pair[1].sequences.0);
        tell(pair[1], format!("it holds write {first}, but Level 0 has it behind a run with write {last}"));
    }
}

/// The runs that may have a key of `range`, in the order in which they are asked.
fn as_asked<'a>(version: &'a Version, range: &'a Range) -> impl Iterator<Item = &'a Arc<LiveRun>> {
    let reaches = |run: &&Arc<LiveRun>| run.low <= range.span.high && range.span.low <= run.high;
    let level0 = version.level0.list().iter().rev().filter(reaches);
    level0.chain(range.runs.list().iter().rev()).filter(|run| run.entries > 0)
}

/// What is known of a key.
struct Seen {
    /// The newest version in the run that is asked first.
    answer: Sequence,
    /// The newest version of all, and the number of the run that has it.
    newest: (Sequence, usize),
    first: usize,
}

/// Reads all keys of a range.
fn check_range(
    version: &Version,
    number: usize,
    asked: &[&Arc<LiveRun>],
    deletes: &RangeDeletes,
    tell: &mut dyn FnMut(&LiveRun, String),
) {
    let mut keys: HashMap<Box<[u8]>, Seen> = HashMap::new();
    for (at, run) in asked.iter().enumerate() {
        let mut reader = run.read_all(READ_AHEAD_BYTES);
        // A run that cannot be read has been told of.
        while let Ok(Some(entry)) = reader.next() {
            if place(&version.ranges, |range| &range.span, entry.key) != Place::Range(number) {
                continue;
            }
            match keys.get_mut(entry.key) {
                Some(seen) => seen.add(at, entry.sequence),
                None => drop(keys.insert(entry.key.into(), Seen::new(at, entry.sequence))),
            }
        }
    }
    let mut amiss: BTreeMap<usize, Vec<Box<[u8]>>> = BTreeMap::new();
    for (key, seen) in keys.into_iter().filter(|(_, seen)| seen.newest.0 > seen.answer) {
        if deletes.newest_over(&key, Sequence::MAX).is_none_or(|delete| delete < seen.newest.0) {
            amiss.entry(seen.newest.1).or_default().push(key);
        }
    }
    for (run, keys) in amiss {
        let least = keys.iter().min().map(|key| key.escape_ascii().to_string()).unwrap_or_default();
        let what = format!("a newer run holds older versions of {} of its keys, of `{least}` first", keys.len());
        tell(asked[run], what);
    }
}

impl Seen {
    fn new(run: usize, sequence: Sequence) -> Self {
        Self { answer: sequence, newest: (sequence, run), first: run }
    }

    fn add(&mut self, run: usize, sequence: Sequence) {
        if run == self.first {
            self.answer = self.answer.max(sequence);
        }
        if sequence > self.newest.0 {
            self.newest = (sequence, run);
        }
    }
}
