use super::*;
use crate::compaction::compact_level0;
use crate::entry::Entry;
use crate::levels::{ExtentReclaimer, LiveRun, NewManifest, VersionEdit};
use crate::run::{DataFileOptions, DataFileWriter, HashColumn, Order};
use crate::storage::simulated::SimulatedStorage;
use crate::{EntryKind, Maintenance, Options};

/// A run of two keys with its hashes.
fn run(storage: &SimulatedStorage, number: u64, reclaimer: &Arc<ExtentReclaimer>) -> (Arc<LiveRun>, HashColumn) {
    let mut writer = DataFileWriter::create(storage, number, &DataFileOptions::default()).unwrap();
    let run = writer.run(Order::Key, false, 1);
    for (key, sequence) in [(b"b", 1), (b"f", 2)] {
        writer.push(run, Entry { key, sequence, kind: EntryKind::Put, value: b"v" }).unwrap();
    }
    let (_, mut runs, mut hashes) = writer.finish().unwrap();
    (LiveRun::new(runs.remove(0), reclaimer), hashes.remove(0))
}

fn range(low: &[u8], high: &[u8], runs: RunSet) -> Arc<Range> {
    Range::new(KeySpan { low: low.into(), high: high.into() }, runs)
}

fn problems(version: &Version) -> Vec<String> {
    let mut found = VerifyReport::default();
    found.version(version);
    found.problems.into_iter().map(|problem| problem.description).collect()
}

#[test]
fn a_version_that_disagrees_with_its_runs_is_reported() {
    let (storage, reclaimer) = (SimulatedStorage::new(1), Arc::new(ExtentReclaimer::default()));
    let (run, hashes) = run(&storage, 1, &reclaimer);
    let runs = || RunSet::new(4).with_run(Arc::clone(&run), &hashes, 2);
    let mut version = Version { level0: runs(), ..Version::empty() };
    version.ranges = Arc::new(vec![range(b"a", b"f", runs())]);
    assert!(problems(&version).is_empty());
    version.level0 = RunSet::new(4).with_run(Arc::clone(&run), &HashColumn(Vec::new()), 2);
    assert_eq!(problems(&version), ["the maplet lacks keys of the run"]);
    version.level0 = runs();
    version.ranges = Arc::new(vec![range(b"a", b"e", runs())]);
    assert_eq!(problems(&version), ["the run has keys outside of its range"]);
    version.ranges = Arc::new(vec![range(b"a", b"f", runs()), range(b"b", b"g", runs())]);
    assert_eq!(problems(&version), ["the range that begins with `b` overlaps the one before it"]);
}

/// Writes a newer manifest with `change` applied to the state of the newest one.
fn rewrite_manifest(storage: &SimulatedStorage, change: impl FnOnce(&mut VersionEdit)) {
    let files = files(storage).unwrap();
    let (state, _) = read_manifest(storage, newest_manifest(&files).unwrap()).unwrap();
    let opened = open_levels(storage, &state, 1, &mut Err).unwrap();
    let number = files.iter().map(|file| file.number()).max().unwrap() + 1;
    let mut edit = opened.version.record(state.log, state.flushed, number + 1);
    change(&mut edit);
    NewManifest::write(storage, number, &edit).unwrap().publish(storage).unwrap();
}

/// A database of overlapping runs in Level 0 and in a range.
fn overwritten() -> SimulatedStorage {
    let storage = SimulatedStorage::new(1);
    let options = Options::new().memtable_bytes(65_536).stale_ratio(100.0).maintenance(Maintenance::Inline);
    let database = options.open_on(Arc::new(storage.clone())).unwrap();
    for round in 0..5_u8 {
        for number in 0..100_u8 {
            database.put(&[number], &[round; 100]).unwrap();
        }
        database.flush().unwrap();
        if round < 3 {
            while compact_level0(&database.engine, true).unwrap() {}
        }
    }
    let layout = database.layout();
    assert_eq!((layout.level0.len(), layout.ranges.len(), layout.ranges[0].runs.len()), (2, 1, 3));
    storage
}

#[test]
fn runs_in_the_wrong_order_are_reported() {
    let storage = overwritten();
    assert_eq!(verify_on(&storage).unwrap().problems, []);
    rewrite_manifest(&storage, |edit| edit.ranges_set[0].runs.swap(0, 1));
    assert_eq!(verify_on(&storage).unwrap().problems, [], "the newest run is looked up first");
    rewrite_manifest(&storage, |edit| edit.ranges_set[0].runs.reverse());
    assert_eq!(verify_on(&storage).unwrap().problems, [], "Level 0 is looked up first, and has all keys");
    let mut level0 = Vec::new();
    rewrite_manifest(&storage, |edit| level0 = std::mem::take(&mut edit.level0_added));
    let problems = verify_on(&storage).unwrap().problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(
        problems[0].description,
        "a run that is looked up earlier has older versions of 100 of its keys, the lowest is `\\x00`"
    );
    assert!(problems[0].file.starts_with("wal") || problems[0].file.starts_with("data"));

    rewrite_manifest(&storage, |edit| edit.level0_added = vec![level0[1], level0[0]]);
    let problems = verify_on(&storage).unwrap().problems;
    assert!(problems[0].description.starts_with("it has write 301, but follows in Level 0"), "{problems:?}");
}

#[test]
fn a_deleted_version_may_be_in_any_run() {
    let storage = overwritten();
    let options = Options::new().memtable_bytes(65_536).stale_ratio(100.0).maintenance(Maintenance::Inline);
    let database = options.open_on(Arc::new(storage.clone())).unwrap();
    database.delete_range(&[0], &[100]).unwrap();
    database.flush().unwrap();
    drop(database);
    rewrite_manifest(&storage, |edit| {
        edit.ranges_set[0].runs.reverse();
        edit.level0_added.drain(..2);
    });
    assert_eq!(verify_on(&storage).unwrap().problems, []);
}
