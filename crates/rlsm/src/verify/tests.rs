use super::*;
use crate::compact::compact;
use crate::entry::Entry;
use crate::levels::{Edit, Grave, LiveRun, NewManifest};
use crate::run::{FileWriter, Hashes, Order, WriteOptions};
use crate::storage::simulated::Simulated;
use crate::{Kind, Maintenance, Options};

/// A run of two keys and its hashes.
fn run(storage: &Simulated, number: u64, grave: &Arc<Grave>) -> (Arc<LiveRun>, Hashes) {
    let mut writer = FileWriter::create(storage, number, &WriteOptions::default()).unwrap();
    let run = writer.run(Order::Key, false, 1);
    for (key, sequence) in [(b"b", 1), (b"f", 2)] {
        writer.push(run, Entry { key, sequence, kind: Kind::Put, value: b"v" }).unwrap();
    }
    let (_, mut runs, mut hashes) = writer.finish().unwrap();
    (LiveRun::new(runs.remove(0), grave), hashes.remove(0))
}

fn range(low: &[u8], high: &[u8], runs: Runs) -> Arc<Range> {
    Range::new(Span { low: low.into(), high: high.into() }, runs)
}

fn problems(version: &Version) -> Vec<String> {
    let mut found = Verification::default();
    found.version(version);
    found.problems.into_iter().map(|problem| problem.what).collect()
}

#[test]
fn levels_that_disagree_with_their_runs_are_told() {
    let (storage, grave) = (Simulated::new(1), Arc::new(Grave::default()));
    let (run, hashes) = run(&storage, 1, &grave);
    let runs = || Runs::new(4).with(Arc::clone(&run), &hashes, 2);
    let mut version = Version { level0: runs(), ..Version::empty() };
    version.ranges = Arc::new(vec![range(b"a", b"f", runs())]);
    assert!(problems(&version).is_empty());
    version.level0 = Runs::new(4).with(Arc::clone(&run), &Hashes(Vec::new()), 2);
    assert_eq!(problems(&version), ["the table of fingerprints lacks keys of the run"]);
    version.level0 = runs();
    version.ranges = Arc::new(vec![range(b"a", b"e", runs())]);
    assert_eq!(problems(&version), ["the run holds keys beyond its range"]);
    version.ranges = Arc::new(vec![range(b"a", b"f", runs()), range(b"b", b"g", runs())]);
    assert_eq!(problems(&version), ["the range from `b` on overlaps the one before it"]);
}

/// Changes what the newest manifest tells, and writes that as a newer one.
fn retell(storage: &Simulated, change: impl FnOnce(&mut Edit)) {
    let files = files(storage).unwrap();
    let (told, _) = read_manifest(storage, newest_manifest(&files).unwrap()).unwrap();
    let opened = open_levels(storage, &told, 1, &mut Err).unwrap();
    let number = files.iter().map(|file| file.number()).max().unwrap() + 1;
    let mut edit = opened.version.record(told.log, told.flushed, number + 1);
    change(&mut edit);
    NewManifest::write(storage, number, &edit).unwrap().publish(storage).unwrap();
}

/// A database of runs that have keys in common, in Level 0 and in a range.
fn overwritten() -> Simulated {
    let storage = Simulated::new(1);
    let options = Options::new().memtable_bytes(65_536).stale_ratio(100.0).maintenance(Maintenance::Inline);
    let database = options.open_on(Arc::new(storage.clone())).unwrap();
    for round in 0..5_u8 {
        for number in 0..100_u8 {
            database.put(&[number], &[round; 100]).unwrap();
        }
        database.flush().unwrap();
        if round < 3 {
            while compact(&database.core, true).unwrap() {}
        }
    }
    let layout = database.layout();
    assert_eq!((layout.level0.len(), layout.ranges.len(), layout.ranges[0].runs.len()), (2, 1, 3));
    storage
}

#[test]
fn runs_in_the_wrong_order_are_told() {
    let storage = overwritten();
    assert_eq!(verify_on(&storage).unwrap().problems, []);
    retell(&storage, |edit| edit.ranges_set[0].runs.swap(0, 1));
    assert_eq!(verify_on(&storage).unwrap().problems, [], "the newest run is asked first, whatever lies behind it");
    retell(&storage, |edit| edit.ranges_set[0].runs.reverse());
    assert_eq!(verify_on(&storage).unwrap().problems, [], "Level 0 is asked first, and has all keys");
    let mut level0 = Vec::new();
    retell(&storage, |edit| level0 = std::mem::take(&mut edit.level0_added));
    let problems = verify_on(&storage).unwrap().problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].what, "a newer run holds older versions of 100 of its keys, of `\\x00` first");
    assert!(problems[0].file.starts_with("wal") || problems[0].file.starts_with("data"));

    retell(&storage, |edit| edit.level0_added = vec![level0[1], level0[0]]);
    let problems = verify_on(&storage).unwrap().problems;
    assert!(problems[0].what.starts_with("it holds write 301, but Level 0 has it behind"), "{problems:?}");
}

#[test]
fn a_version_that_is_gone_may_lie_anywhere() {
    let storage = overwritten();
    let options = Options::new().memtable_bytes(65_536).stale_ratio(100.0).maintenance(Maintenance::Inline);
    let database = options.open_on(Arc::new(storage.clone())).unwrap();
    database.delete_range(&[0], &[100]).unwrap();
    database.flush().unwrap();
    drop(database);
    retell(&storage, |edit| {
        edit.ranges_set[0].runs.reverse();
        edit.level0_added.drain(..2);
    });
    assert_eq!(verify_on(&storage).unwrap().problems, []);
}
