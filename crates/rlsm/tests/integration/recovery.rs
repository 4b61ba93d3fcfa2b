//! Recovery from what a crash has left.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rlsm::storage::Storage as _;
use rlsm::storage::simulated::SimulatedStorage;
use rlsm::{Database, Maintenance, Options, Sync};

fn options() -> Options {
    Options::new().memtable_bytes(65_536).maintenance(Maintenance::Inline)
}

fn open(machine: &SimulatedStorage) -> rlsm::Result<Database> {
    options().open_on(Arc::new(machine.clone()))
}

/// The names of the files with this prefix.
fn names(machine: &SimulatedStorage, kind: &str) -> Vec<String> {
    machine.list().unwrap().into_iter().filter(|name| name.starts_with(kind)).collect()
}

fn append(machine: &SimulatedStorage, name: &str, bytes: &[u8]) {
    let file = machine.open(name).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
}

#[test]
fn writes_after_a_torn_log_are_durable() {
    let machine = SimulatedStorage::new(1);
    drop(open(&machine).unwrap());
    let log = names(&machine, "wal").pop().unwrap();
    append(&machine, &log, b"a record that a crash cut off");

    let database = open(&machine).unwrap();
    assert!(database.recovery().torn_bytes > 0);
    database.put(b"a", b"1").unwrap();
    machine.crash();
    drop(database);

    let machine = machine.reboot();
    let database = open(&machine).unwrap();
    assert_eq!(database.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(names(&machine, "wal").len(), 1);
}

#[test]
fn a_new_log_in_recycled_blocks_is_ignored() {
    let machine = SimulatedStorage::new(1);
    let database = open(&machine).unwrap();
    database.put(b"a", b"1").unwrap();
    drop(database);
    let log = names(&machine, "wal").pop().unwrap();
    let mut held = vec![0; machine.open(&log).unwrap().len().unwrap() as usize];
    machine.open(&log).unwrap().read_at(&mut held, 0).unwrap();

    let number: u64 = log[4..].parse().unwrap();
    let next = format!("wal-{:06}", number + 1);
    machine.create(&next).unwrap();
    append(&machine, &next, &held);
    machine.sync_directory().unwrap();
    assert!(rlsm::verify_on(&machine).unwrap().is_sound());
    let database = open(&machine).unwrap();
    assert_eq!(database.recovery().torn_bytes, held.len() as u64);
    assert_eq!(database.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    database.put(b"b", b"2").unwrap();
    drop(database);
    assert_eq!(open(&machine).unwrap().range(..).unwrap().count(), 2);
}

#[test]
fn an_unfinished_manifest_is_removed() {
    let machine = SimulatedStorage::new(1);
    append_new(&machine, "manifest-000001.new");
    let database = open(&machine).unwrap();
    assert!(database.recovery().is_new);
    assert_eq!(database.recovery().removed, ["manifest-000001.new"]);
    database.put(b"a", b"1").unwrap();
    drop(database);

    let next =
        machine.list().unwrap().iter().map(|name| name[name.len() - 6..].parse::<u64>().unwrap()).max().unwrap() + 1;
    let unfinished = format!("manifest-{next:06}.new");
    append_new(&machine, &unfinished);
    let database = open(&machine).unwrap();
    assert_eq!(database.recovery().removed, [unfinished]);
    assert_eq!(database.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
}

fn append_new(machine: &SimulatedStorage, name: &str) {
    machine.create(name).unwrap();
    append(machine, name, b"rlsm");
    machine.sync_directory().unwrap();
}

#[test]
fn level_0_has_at_most_as_many_runs_as_a_maplet_distinguishes() {
    let machine = SimulatedStorage::new(1);
    let database = open(&machine).unwrap();
    for number in 0..200_u32 {
        database.put(&number.to_be_bytes(), b"1").unwrap();
        // A run that spans all others keeps them in Level 0.
        database.put(&[0xff], &number.to_be_bytes()).unwrap();
        database.put(&[], &number.to_be_bytes()).unwrap();
        database.flush().unwrap();
    }
    for number in 0..200_u32 {
        assert!(database.get(&number.to_be_bytes()).unwrap().is_some(), "{number} is gone");
    }
    assert_eq!(database.get(&[]).unwrap().as_deref(), Some(&199_u32.to_be_bytes()[..]));
    drop(database);
    let database = open(&machine).unwrap();
    assert_eq!(database.range(..).unwrap().count(), 202);
}

#[test]
fn writes_are_synced_at_an_interval() {
    for maintenance in [Maintenance::Inline, Maintenance::Background] {
        let machine = SimulatedStorage::new(1);
        let options = options().sync(Sync::Interval(Duration::from_millis(1))).maintenance(maintenance);
        let database = options.open_on(Arc::new(machine.clone())).unwrap();
        let syncs = || machine.fail_points().get("sync: after the WAL is synced").copied().unwrap_or(0);
        let before = syncs();
        database.put(b"a", b"1").unwrap();
        while syncs() == before {
            thread::yield_now();
        }
        machine.crash();
        drop(database);
        let database = options.open_on(Arc::new(machine.reboot())).unwrap();
        assert_eq!(database.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    }
}

#[test]
fn logs_larger_than_the_memtable_are_replayed() {
    let machine = SimulatedStorage::new(1);
    let database = options().memtable_bytes(1 << 22).open_on(Arc::new(machine.clone())).unwrap();
    for number in 0..1000_u32 {
        database.put(&number.to_be_bytes(), &[7; 1000]).unwrap();
    }
    machine.crash();
    drop(database);
    let database = open(&machine.reboot()).unwrap();
    assert_eq!(database.recovery().batches, 1000);
    assert_eq!(database.range(..).unwrap().count(), 1000);
}

#[test]
fn a_missing_log_is_reported() {
    let machine = SimulatedStorage::new(1);
    let database = open(&machine).unwrap();
    database.put(b"a", b"1").unwrap();
    machine.crash_at_point("open: before replayed writes are flushed", 2);
    drop(database);
    // A crash during an opening leaves two WALs, of which the first is needed.
    assert!(open(&machine).is_err());
    let machine = machine.reboot();
    let logs = names(&machine, "wal");
    assert_eq!(logs.len(), 2);
    machine.remove(&logs[0]).unwrap();
    let error = open(&machine).err().unwrap().to_string();
    assert!(error.contains(&logs[0]) && error.contains("missing"), "{error}");
}
