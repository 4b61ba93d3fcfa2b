//! Flipped bits are detected and located, or harmless, but never cause a wrong result.

use std::io;
use std::sync::{Arc, Condvar, Mutex};

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use rlsm::storage::simulated::SimulatedStorage;
use rlsm::storage::{File, Storage};
use rlsm::{Compression, Database, Error, Flush, Maintenance, Options};

use crate::support::{Model, Write, all, batch};

/// The number of bits that are flipped in each file, one at a time.
const FLIPS_PER_FILE: u64 = 250;

fn options(compression: Compression) -> Options {
    Options::new()
        .memtable_bytes(65_536)
        .range_bytes(65_536)
        .block_bytes(1024)
        .flush(if compression == Compression::None { Flush::Index } else { Flush::Copy })
        .level0_compression(compression)
        .level1_compression(compression)
        .maintenance(Maintenance::Inline)
}

fn write(chance: &mut Xoshiro256PlusPlus, low: u32) -> Write {
    let key = format!("key{:04}", low + chance.random_range(0..200)).into_bytes();
    match chance.random_range(0..20) {
        0 => Write::Delete(key),
        1 => Write::DeleteRange(key.clone(), [&*key, b"~"].concat()),
        _ => Write::Put(key, vec![chance.random(); chance.random_range(0..100)]),
    }
}

/// A database of runs in both levels, some of them linked, with two writes in its WAL. Returns its states without and
/// with the last write.
fn database(compression: Compression) -> (SimulatedStorage, Model, Model) {
    let storage = SimulatedStorage::new(0);
    let database = options(compression).open_on(Arc::new(storage.clone())).unwrap();
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut model = Model::new();
    let mut write_one = |low: u32| {
        let write = write(&mut chance, low);
        database.write(batch(std::slice::from_ref(&write))).unwrap();
        write.apply(&mut model);
        model.clone()
    };
    for (low, compacts) in [(0, true), (400, true), (50, false), (420, false)] {
        (0..150).for_each(|_| drop(write_one(low)));
        if compacts { database.compact().unwrap() } else { database.flush().unwrap() }
    }
    let before_last = (0..3).map(|_| write_one(0)).last().unwrap();
    let newest = write_one(0);
    drop(database);
    (storage, before_last, newest)
}

fn copy(storage: &SimulatedStorage) -> SimulatedStorage {
    let copy = SimulatedStorage::new(1);
    storage.list().unwrap().iter().for_each(|name| storage.copy(name, &copy).unwrap());
    copy.sync_directory().unwrap();
    copy
}

#[test]
fn a_flipped_bit_is_detected_or_harmless() {
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let (storage, before_last, newest) = database(compression);
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(5);
        let (mut found, mut torn, mut harmless) = (0, 0, 0);
        for name in storage.list().unwrap() {
            let bytes = storage.open(&name).unwrap().len().unwrap();
            for _ in 0..FLIPS_PER_FILE.min(bytes * 8) {
                let (offset, bit) = (chance.random_range(0..bytes), chance.random_range(0..8));
                let flipped = copy(&storage);
                flipped.flip_bit(&name, offset, bit).unwrap();
                let context = || format!("bit {bit} of byte {offset} of {bytes} of `{name}`, {compression:?}");
                match look(&flipped, compression, &newest) {
                    Outcome::Right => harmless += 1,
                    Outcome::Found(file) => {
                        assert_eq!(file, name, "{}: another file is named", context());
                        found += 1;
                    }
                    Outcome::Torn(state) if name.starts_with("wal") => {
                        assert!(state == before_last, "{}: more than the last record is lost", context());
                        torn += 1;
                    }
                    Outcome::Torn(_) | Outcome::Wrong => panic!("{}: the answers are wrong", context()),
                    Outcome::Failed(error) => panic!("{}: {error}", context()),
                }
            }
        }
        assert!(found > 4 * harmless && found > 4 * torn, "{found} found, {torn} torn, {harmless} harmless");
        assert!(torn > 0, "no bit of a log's last record was turned over");
    }
}

enum Outcome {
    Right,
    /// The file that the error names.
    Found(String),
    /// Recovery reported torn bytes; this is the state.
    Torn(Model),
    Wrong,
    Failed(Error),
}

fn look(storage: &SimulatedStorage, compression: Compression, expected: &Model) -> Outcome {
    let answers = options(compression).open_on(Arc::new(storage.clone())).and_then(|database| {
        let state = read_all_ways(&database, expected)?;
        Ok((state, database.recovery().torn_bytes))
    });
    match answers {
        Ok((Some(state), _)) if state == *expected => Outcome::Right,
        Ok((Some(state), torn_bytes)) if torn_bytes > 0 => Outcome::Torn(state),
        Ok(_) => Outcome::Wrong,
        Err(Error::Corrupt { file, .. }) => Outcome::Found(file),
        Err(error) => Outcome::Failed(error),
    }
}

/// The state in order, if look-ups agree and a compaction does not change it.
fn read_all_ways(database: &Database, expected: &Model) -> rlsm::Result<Option<Model>> {
    let state = all(database)?;
    for key in expected.keys().chain(state.keys()) {
        if database.get(key)?.as_deref() != state.get(key).map(|value| &**value) {
            return Ok(None);
        }
    }
    database.compact()?;
    Ok((all(database)? == state).then_some(state))
}

/// Storage that blocks at a fail point until the gate opens.
struct Gate {
    below: SimulatedStorage,
    point: &'static str,
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn open_gate(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

impl Storage for Gate {
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        self.below.create(name)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        self.below.open(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.below.list()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.below.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.below.remove(name)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.below.sync_directory()
    }

    fn lock(&self) -> io::Result<Option<Box<dyn Send + Sync>>> {
        self.below.lock()
    }

    fn copy(&self, name: &str, to: &dyn Storage) -> io::Result<()> {
        self.below.copy(name, to)
    }

    fn description(&self) -> String {
        self.below.description()
    }

    fn fail_point(&self, point: &'static str) {
        if point == self.point {
            drop(self.opened.wait_while(self.is_open.lock().unwrap(), |is_open| !*is_open).unwrap());
        }
    }
}

/// A database with two WALs, of which the first is not flushed yet.
fn two_logs() -> (SimulatedStorage, Model, Model) {
    let gate = Arc::new(Gate {
        below: SimulatedStorage::new(0),
        point: "flush: before the run is written",
        is_open: Mutex::new(false),
        opened: Condvar::new(),
    });
    let options = options(Compression::None).maintenance(Maintenance::Background);
    let database = options.open_on(gate.clone()).unwrap();
    let (mut states, mut behind) = (vec![Model::new()], 0);
    while behind < 3 {
        let number = states.len();
        let write = Write::Put(format!("key{number:04}").into_bytes(), vec![number as u8; 2000]);
        database.write(batch(std::slice::from_ref(&write))).unwrap();
        let mut model = states[number - 1].clone();
        write.apply(&mut model);
        states.push(model);
        let logs = gate.list().unwrap().iter().filter(|name| name.starts_with("wal")).count();
        behind += usize::from(logs > 1);
    }
    gate.below.crash();
    gate.open_gate();
    drop(database);
    let newest = states.pop().unwrap();
    (gate.below.reboot(), states.pop().unwrap(), newest)
}

#[test]
fn a_flipped_bit_in_a_log_before_the_last_is_detected() {
    let (storage, before_last, newest) = two_logs();
    let logs: Vec<String> = storage.list().unwrap().into_iter().filter(|name| name.starts_with("wal")).collect();
    assert_eq!(logs.len(), 2);
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(5);
    for (name, is_last) in [(&logs[0], false), (&logs[1], true)] {
        let bytes = storage.open(name).unwrap().len().unwrap();
        let spread = (0..150).map(|_| chance.random_range(0..bytes)).collect::<Vec<_>>();
        for offset in (0..24).chain(spread).chain(bytes - 50..bytes) {
            let flipped = copy(&storage);
            flipped.flip_bit(name, offset, (offset % 8) as u8).unwrap();
            match look(&flipped, Compression::None, &newest) {
                Outcome::Found(file) => assert_eq!(file, *name),
                Outcome::Torn(state) if is_last => assert!(state == before_last),
                _ => panic!("byte {offset} of {bytes} of `{name}`: it was not found"),
            }
        }
    }
}
