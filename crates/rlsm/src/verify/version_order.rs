//! Checks that a look-up finds the newest version of each key first.
//!
//! A look-up goes through the runs of Level 0, then those of the key's range, each from the newest to the oldest, and
//! takes the first version that it finds. So no run may have a newer version of a key than a run that is looked up
//! earlier and has the key. Runs as a whole need not be in the order of their writes: of disjoint runs of Level 0 the
//! newer one may leave first. Versions that a range tombstone deletes may be in any run.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::SequenceNumber;
use crate::levels::{LiveRun, Range, Version};
use crate::merge::RangeTombstones;
use crate::plan::{KeyPlacement, place_key};
use crate::run::READ_AHEAD_BYTES;

/// Passes every run that is looked up too late to `report`, with a description.
pub(super) fn check(version: &Version, report: &mut dyn FnMut(&LiveRun, String)) {
    check_level0(version, report);
    let mut deletes = RangeTombstones::default();
    deletes.extend(version.level0.range_tombstones());
    version.ranges.iter().for_each(|range| deletes.extend(range.runs.range_tombstones()));
    for (number, range) in version.ranges.iter().enumerate() {
        let runs: Vec<&Arc<LiveRun>> = lookup_order(version, range).collect();
        if !runs.is_sorted_by(|earlier, later| later.sequences.1 <= earlier.sequences.0) {
            check_range(version, number, &runs, &deletes, report);
        }
    }
}

/// In Level 0, runs are in the order of flushes: all writes of one precede all of the next.
fn check_level0(version: &Version, report: &mut dyn FnMut(&LiveRun, String)) {
    let has_writes = |run: &&Arc<LiveRun>| run.entries > 0 || !run.range_tombstones.is_empty();
    let runs: Vec<&Arc<LiveRun>> = version.level0.list().iter().filter(has_writes).collect();
    for pair in runs.windows(2).filter(|pair| pair[0].sequences.1 >= pair[1].sequences.0) {
        let (last, first) = (pair[0].sequences.1, pair[1].sequences.0);
        report(pair[1], format!("it has write {first}, but follows in Level 0 on a run with write {last}"));
    }
}

/// The runs that may have a key of `range`, in the order of look-ups.
fn lookup_order<'a>(version: &'a Version, range: &'a Range) -> impl Iterator<Item = &'a Arc<LiveRun>> {
    let reaches = |run: &&Arc<LiveRun>| run.low <= range.span.high && range.span.low <= run.high;
    let level0 = version.level0.list().iter().rev().filter(reaches);
    level0.chain(range.runs.list().iter().rev()).filter(|run| run.entries > 0)
}

/// The versions of a key.
struct KeyVersions {
    /// The newest version in the first run that has the key.
    first_found: SequenceNumber,
    /// The newest version of all, and the index of its run.
    newest: (SequenceNumber, usize),
    first: usize,
}

/// Reads and checks all keys of a range.
fn check_range(
    version: &Version,
    number: usize,
    runs: &[&Arc<LiveRun>],
    deletes: &RangeTombstones,
    report: &mut dyn FnMut(&LiveRun, String),
) {
    let mut keys: HashMap<Box<[u8]>, KeyVersions> = HashMap::new();
    for (at, run) in runs.iter().enumerate() {
        let mut reader = run.read_all(READ_AHEAD_BYTES);
        // The error of an unreadable run has been reported.
        while let Ok(Some(entry)) = reader.next() {
            if place_key(&version.ranges, |range| &range.span, entry.key) != KeyPlacement::Range(number) {
                continue;
            }
            match keys.get_mut(entry.key) {
                Some(seen) => seen.add(at, entry.sequence),
                None => drop(keys.insert(entry.key.into(), KeyVersions::new(at, entry.sequence))),
            }
        }
    }
    let mut misplaced: BTreeMap<usize, Vec<Box<[u8]>>> = BTreeMap::new();
    for (key, seen) in keys.into_iter().filter(|(_, seen)| seen.newest.0 > seen.first_found) {
        if deletes.newest_covering(&key, SequenceNumber::MAX).is_none_or(|delete| delete < seen.newest.0) {
            misplaced.entry(seen.newest.1).or_default().push(key);
        }
    }
    for (run, keys) in misplaced {
        let least = keys.iter().min().map(|key| key.escape_ascii().to_string()).unwrap_or_default();
        let problem = format!(
            "a run that is looked up earlier has older versions of {} of its keys, the lowest is `{least}`",
            keys.len()
        );
        report(runs[run], problem);
    }
}

impl KeyVersions {
    fn new(run: usize, sequence: SequenceNumber) -> Self {
        Self { first_found: sequence, newest: (sequence, run), first: run }
    }

    fn add(&mut self, run: usize, sequence: SequenceNumber) {
        if run == self.first {
            self.first_found = self.first_found.max(sequence);
        }
        if sequence > self.newest.0 {
            self.newest = (sequence, run);
        }
    }
}
