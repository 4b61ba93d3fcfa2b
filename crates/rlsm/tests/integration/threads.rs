//! Concurrent reads and writes during flushes and compactions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use rlsm::storage::simulated::SimulatedStorage;
use rlsm::{Batch, Database, Maintenance, Options, Sync};

const WRITERS: u64 = 3;
const READERS: u64 = 3;
/// Every batch of a writer sets all of its keys to the same value.
const KEYS: u64 = 10;
const BATCHES: u64 = 600;

fn options() -> Options {
    Options::new()
        .memtable_bytes(65_536)
        .range_bytes(65_536)
        .compaction_bytes(30_000)
        .manifest_bytes(1000)
        .cache_bytes(1 << 18)
        .sync(Sync::Never)
        .maintenance(Maintenance::Background)
}

/// The keys of writers are interleaved.
fn key(writer: u64, number: u64) -> Vec<u8> {
    format!("{number:03}-{writer}").into_bytes()
}

fn value(count: u64) -> Vec<u8> {
    let mut value = count.to_be_bytes().to_vec();
    value.resize(500, count as u8);
    value
}

fn count(value: &[u8]) -> u64 {
    assert_eq!(value[8..], value_tail(value), "a value is of two halves");
    u64::from_be_bytes(value[..8].try_into().unwrap())
}

fn value_tail(value: &[u8]) -> Vec<u8> {
    vec![value[7]; value.len() - 8]
}

fn write(database: &Database, writer: u64, acknowledged: &AtomicU64) {
    for count in 1..=BATCHES {
        let mut batch = Batch::new();
        if count % 50 == 0 {
            for number in 0..KEYS {
                let key = key(writer, number);
                batch.delete_range(&key, &[&*key, b"~"].concat()).unwrap();
            }
        }
        for number in 0..KEYS {
            batch.put(&key(writer, number), &value(count)).unwrap();
        }
        database.write(batch).unwrap();
        acknowledged.store(count, Ordering::Release);
    }
}

/// Reads of one thread never go back, see what was acknowledged before, and see whole batches.
fn read(database: &Database, acknowledged: &[AtomicU64], is_done: &AtomicBool) {
    let mut seen = vec![0; acknowledged.len()];
    while !is_done.load(Ordering::Acquire) {
        for (writer, seen) in seen.iter_mut().enumerate() {
            let at_least = acknowledged[writer].load(Ordering::Acquire).max(*seen);
            let got = database.get(&key(writer as u64, *seen % KEYS)).unwrap().map_or(0, |value| count(&value));
            assert!(got >= at_least, "{got} was read after {at_least}");
            *seen = got;
        }
        let snapshot = database.snapshot();
        let scanned: Vec<_> = database.range_at(.., &snapshot).unwrap().collect::<rlsm::Result<_>>().unwrap();
        for (writer, seen) in seen.iter_mut().enumerate() {
            let counts: Vec<u64> = (0..KEYS)
                .map(|number| {
                    let found = database.get_at(&key(writer as u64, number), &snapshot).unwrap();
                    let scanned = scanned.iter().find(|(scanned, _)| **scanned == *key(writer as u64, number));
                    assert_eq!(found.as_deref(), scanned.map(|(_, value)| &**value), "a scan differs from a look-up");
                    found.map_or(0, |value| count(&value))
                })
                .collect();
            assert!(counts.iter().all(|count| *count == counts[0]), "a partial batch was read: {counts:?}");
            assert!(counts[0] >= *seen, "a snapshot is older than what was read before it");
            *seen = counts[0];
        }
    }
}

#[test]
fn reads_are_monotonic_and_batches_atomic() {
    let storage = SimulatedStorage::new(1);
    let database = options().open_on(Arc::new(storage.clone())).unwrap();
    let acknowledged: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| read(&database, &acknowledged, &is_done));
        }
        scope.spawn(|| {
            while !is_done.load(Ordering::Acquire) {
                database.flush().unwrap();
                database.compact().unwrap();
            }
        });
        let (database, acknowledged) = (&database, &acknowledged);
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| scope.spawn(move || write(database, writer, &acknowledged[writer as usize])))
            .collect();
        let outcomes: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_done.store(true, Ordering::Release);
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
    });
    drop(database);
    let database = options().open_on(Arc::new(storage)).unwrap();
    assert_eq!(database.range(..).unwrap().count() as u64, WRITERS * KEYS);
}
