//! Iterators and snapshots that outlive their database.

use std::sync::Arc;

use rlsm::storage::simulated::SimulatedStorage;
use rlsm::{Database, Error, Iter, Maintenance, Options};

const KEYS: u32 = 3000;

fn open(machine: &SimulatedStorage) -> rlsm::Result<Database> {
    let options = Options::new().memtable_bytes(65_536).cache_bytes(0).maintenance(Maintenance::Inline);
    options.open_on(Arc::new(machine.clone()))
}

fn fill(database: &Database, byte: u8) {
    (0..KEYS).for_each(|number| database.put(&number.to_be_bytes(), &[byte; 100]).unwrap());
}

fn count(iter: Iter, byte: u8) -> usize {
    iter.map(Result::unwrap).filter(|(_, value)| **value == [byte; 100]).count()
}

#[test]
fn an_iterator_goes_on_and_keeps_the_directory_locked() {
    let machine = SimulatedStorage::new(1);
    let database = open(&machine).unwrap();
    fill(&database, 1);
    database.compact().unwrap();
    let (one, mut other) = (database.range(..).unwrap(), database.range(..).unwrap());
    other.seek_to_last().unwrap();
    fill(&database, 2);
    database.compact().unwrap();
    drop(database);
    assert!(matches!(open(&machine), Err(Error::Locked { .. })));
    assert_eq!(count(one, 1), KEYS as usize);
    assert!(matches!(open(&machine), Err(Error::Locked { .. })));
    other.backward().unwrap();
    assert_eq!(other.entry(), Some((&(KEYS - 2).to_be_bytes()[..], &[1; 100][..])));
    drop(other);
    let database = open(&machine).unwrap();
    database.compact().unwrap();
    assert_eq!(count(database.range(..).unwrap(), 2), KEYS as usize);
}

#[test]
fn a_snapshot_of_another_opening_is_refused() {
    let machine = SimulatedStorage::new(1);
    let database = open(&machine).unwrap();
    database.put(b"a", b"1").unwrap();
    let snapshot = database.snapshot();
    database.put(b"a", b"2").unwrap();
    assert_eq!(database.get_at(b"a", &snapshot).unwrap().as_deref(), Some(&b"1"[..]));
    drop(database);
    let database = open(&machine).unwrap();
    assert!(matches!(database.get_at(b"a", &snapshot), Err(Error::Invalid { .. })));
    assert!(matches!(database.range_at(.., &snapshot), Err(Error::Invalid { .. })));
    assert_eq!(snapshot.clone().sequence(), snapshot.sequence());
    drop(snapshot);
    assert_eq!(database.get_at(b"a", &database.snapshot()).unwrap().as_deref(), Some(&b"2"[..]));
}
