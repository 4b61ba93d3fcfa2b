//! Data that is scanned often is written in key order, and data that is looked up often in hash order.

use std::sync::Arc;

use rlsm::storage::simulated::SimulatedStorage;
use rlsm::{Compression, Database, Maintenance, Options, Sync};

fn database() -> Database {
    database_with_ranges(131_072)
}

fn database_with_ranges(range_bytes: u64) -> Database {
    let options = Options::new().range_bytes(range_bytes).memtable_bytes(65_536).level1_compression(Compression::None);
    let options = options.sync(Sync::Never).maintenance(Maintenance::Inline);
    options.open_on(Arc::new(SimulatedStorage::new(1))).unwrap()
}

fn key(number: u32) -> Vec<u8> {
    format!("{:05}", number * 7919 % 10_007).into_bytes()
}

fn put(database: &Database, numbers: std::ops::Range<u32>) {
    numbers.for_each(|number| database.put(&key(number), &number.to_le_bytes()).unwrap());
}

/// Scans everything and compares it with what is expected.
fn scan(database: &Database, numbers: u32) {
    let mut expected: Vec<_> = (0..numbers).map(|number| (key(number), number.to_le_bytes().to_vec())).collect();
    expected.sort_unstable();
    let found = database.range(..).unwrap().map(|pair| pair.map(|(key, value)| (key.into_vec(), value.into_vec())));
    assert_eq!(found.collect::<rlsm::Result<Vec<_>>>().unwrap(), expected);
}

fn check_gets(database: &Database, numbers: u32) {
    for number in (0..numbers).step_by(11) {
        assert_eq!(database.get(&key(number)).unwrap().as_deref(), Some(&number.to_le_bytes()[..]));
    }
}

#[test]
fn scanned_ranges_are_sorted_once() {
    let database = database();
    put(&database, 0..5000);
    database.compact().unwrap();
    assert_eq!(database.stats().unwrap().sorted_entries, 0);
    database.settle().unwrap();
    assert_eq!(database.stats().unwrap().sorted_entries, 0, "there were no scans");
    (0..2).for_each(|_| scan(&database, 5000));
    database.settle().unwrap();
    let after = database.stats().unwrap();
    assert_eq!(after.sorted_entries, 5000);
    (0..20).for_each(|_| scan(&database, 5000));
    check_gets(&database, 5000);
    database.settle().unwrap();
    assert_eq!(database.stats().unwrap().rebalance_bytes, after.rebalance_bytes, "it is sorted once");
}

#[test]
fn a_scanned_level_0_is_compacted() {
    let database = database();
    put(&database, 0..3000);
    database.flush().unwrap();
    let before = database.stats().unwrap();
    assert!(before.level0_runs > 0 && before.level0_entries > 0);
    (0..4).for_each(|_| {
        scan(&database, 3000);
        database.settle().unwrap();
    });
    let after = database.stats().unwrap();
    assert_eq!((after.level0_runs, after.sorted_entries), (0, 3000));
    check_gets(&database, 3000);
}

#[test]
fn a_scanned_memtable_is_flushed_in_key_order() {
    let database = database();
    put(&database, 0..300);
    put(&database, 0..100);
    database.delete(&key(200)).unwrap();
    database.put(&key(200), &200u32.to_le_bytes()).unwrap();
    scan(&database, 300);
    database.flush().unwrap();
    let stats = database.stats().unwrap();
    assert_eq!((stats.level0_runs, stats.sorted_entries), (1, 300));
    scan(&database, 300);
    check_gets(&database, 300);
    assert!(database.verify().problems.is_empty());
}

#[test]
fn runs_appended_to_sorted_ranges_are_sorted() {
    let database = database();
    put(&database, 0..4000);
    database.compact().unwrap();
    (0..3).for_each(|_| {
        scan(&database, 4000);
        database.settle().unwrap();
    });
    put(&database, 4000..5000);
    database.compact().unwrap();
    let stats = database.stats().unwrap();
    assert_eq!(stats.sorted_entries, 5000);
    scan(&database, 5000);
    check_gets(&database, 5000);
}

#[test]
fn a_small_level_0_is_not_compacted_for_a_few_scans() {
    let database = database();
    (0..5000).for_each(|number| database.put(&key(number), &[7; 800]).unwrap());
    database.compact().unwrap();
    put(&database, 5000..5010);
    database.flush().unwrap();
    for _ in 0..20 {
        let mut scan = database.range(&key(5005)[..]..).unwrap();
        assert_eq!(scan.next().unwrap().unwrap().0, key(5005).into());
    }
    database.settle().unwrap();
    assert_eq!(database.stats().unwrap().level0_entries, 10);
}

#[test]
fn snapshots_and_deletes_survive_a_flush_in_key_order() {
    let database = database();
    put(&database, 0..300);
    let before = database.snapshot();
    database.delete(&key(7)).unwrap();
    database.delete_range(b"00000", b"02000").unwrap();
    database.put(&key(7), b"again").unwrap();
    let all = |database: &Database| database.range(..).unwrap().collect::<rlsm::Result<Vec<_>>>().unwrap();
    let (earlier, now) =
        (database.range_at(.., &before).unwrap().collect::<rlsm::Result<Vec<_>>>().unwrap(), all(&database));
    assert!(earlier.len() == 300 && now.len() < 300);
    database.flush().unwrap();
    // All keys, and the three versions of the key that was put, deleted and put again.
    assert_eq!(database.stats().unwrap().sorted_entries, 302);
    for _ in 0..2 {
        assert_eq!(database.range_at(.., &before).unwrap().collect::<rlsm::Result<Vec<_>>>().unwrap(), earlier);
        assert_eq!(all(&database), now);
        assert_eq!(database.get(&key(7)).unwrap().as_deref(), Some(&b"again"[..]));
        assert_eq!(database.get_at(&key(7), &before).unwrap().as_deref(), Some(&7u32.to_le_bytes()[..]));
        assert!(database.verify().problems.is_empty());
        database.compact().unwrap();
    }
}

/// Flushes disjoint sets of keys, each scanned before, until Level 0 shrinks.
fn flush_disjoint_until_level_0_shrinks(database: &Database, prefix: &str, expected: &mut Vec<(Vec<u8>, Vec<u8>)>) {
    let mut runs_before = 0;
    for place in 0.. {
        let pairs: Vec<_> =
            (0..50u32).map(|number| (format!("{prefix}{place:03}-{number:03}").into_bytes(), vec![7; 1000])).collect();
        pairs.iter().for_each(|(key, value)| database.put(key, value).unwrap());
        let found = database.prefix(format!("{prefix}{place:03}").as_bytes()).unwrap();
        assert_eq!(found.count(), 50);
        expected.extend(pairs);
        database.flush().unwrap();
        database.settle().unwrap();
        let runs = database.stats().unwrap().level0_runs;
        if runs <= runs_before {
            return;
        }
        runs_before = runs;
    }
}

#[test]
fn sorted_flushes_are_moved_and_linked_without_rewriting() {
    let database = database_with_ranges(8 << 20);
    let mut expected = Vec::new();
    flush_disjoint_until_level_0_shrinks(&database, "b", &mut expected);
    let moved = database.stats().unwrap();
    assert_eq!((moved.compaction_bytes, moved.rebalance_bytes), (0, 0), "nothing is copied");
    assert!(moved.level1_entries > 0);
    let pairs: Vec<_> = ["a", "c"].map(|key| (key.as_bytes().to_vec(), vec![1; 10])).into();
    pairs.iter().for_each(|(key, value)| database.put(key, value).unwrap());
    expected.extend(pairs);
    database.compact().unwrap();
    let before = database.stats().unwrap();
    assert_eq!(before.ranges, 1, "one range contains all that follows");
    flush_disjoint_until_level_0_shrinks(&database, "bb", &mut expected);
    let linked = database.stats().unwrap();
    assert!(linked.level1_runs > before.level1_runs);
    assert_eq!((linked.compaction_bytes, linked.rebalance_bytes), (before.compaction_bytes, before.rebalance_bytes));
    expected.sort_unstable();
    let found = database.range(..).unwrap().map(|pair| pair.map(|(key, value)| (key.into_vec(), value.into_vec())));
    assert_eq!(found.collect::<rlsm::Result<Vec<_>>>().unwrap(), expected);
    expected.iter().for_each(|(key, value)| assert_eq!(database.get(key).unwrap().as_deref(), Some(&value[..])));
    assert!(database.verify().problems.is_empty());
}

/// Puts and flushes numbers. Returns the number of Level 0 runs, and of those that are logs.
fn flushed(database: &Database, numbers: std::ops::Range<u32>, value: &[u8]) -> (u64, u64) {
    numbers.for_each(|number| database.put(&key(number), value).unwrap());
    database.flush().unwrap();
    let stats = database.stats().unwrap();
    (stats.level0_runs, stats.level0_runs - stats.data_files)
}

fn get_all(database: &Database, numbers: std::ops::Range<u32>) {
    numbers.for_each(|number| assert!(database.get(&key(number)).unwrap().is_some()));
}

#[test]
fn a_memtable_is_copied_into_blocks_once_gets_read_level_0() {
    let database = database();
    assert_eq!(flushed(&database, 0..500, b"value"), (1, 1));
    assert_eq!(flushed(&database, 500..600, b"value"), (2, 2), "there were no gets");
    // A get that has to read counts as 16 KiB, a file as 1 MiB.
    get_all(&database, 0..64);
    assert_eq!(flushed(&database, 600..700, b"value"), (3, 3), "64 gets cost no more");
    get_all(&database, 64..129);
    assert_eq!(flushed(&database, 700..800, b"value"), (4, 3));
    assert_eq!(database.stats().unwrap().sorted_entries, 0, "the copy is in hash order");
    (0..9).for_each(|_| get_all(&database, 64..129));
    assert_eq!(flushed(&database, 800..900, b"value"), (5, 4), "what is in the cache costs nothing");
    get_all(&database, 129..600);
    assert_eq!(flushed(&database, 900..905, &[7; 600]), (6, 5), "a block of large entries is larger than a page");
    get_all(&database, 600..905);
    assert!(database.verify().problems.is_empty());
}
