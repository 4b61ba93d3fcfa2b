//! Every way to read gives the same answers, from real files, while threads write and compact them.

use std::collections::BTreeMap;

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use rlsm::{Compression, Database, Flush, Options, Read, Sync};

use crate::support::{READS, all};

const KEYS: u64 = 3000;
const ROUNDS: u64 = 6;

fn options(read: Read, flush: Flush) -> Options {
    Options::new()
        .memtable_bytes(65_536)
        .range_bytes(131_072)
        .level1_compression(Compression::None)
        .flush(flush)
        // No block is found in the cache.
        .cache_bytes(0)
        .sync(Sync::Never)
        .read(read)
}

fn key(number: u64) -> Vec<u8> {
    format!("key{number:05}").into_bytes()
}

/// The value of a key after a round: it tells both, and has many lengths.
fn value(number: u64, round: u64) -> Vec<u8> {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(number << 8 | round);
    let mut value = format!("{number} {round} ").into_bytes();
    value.resize(20 + chance.random_range(0..900), number as u8);
    value
}

/// The keys that a round writes.
fn written(round: u64) -> impl Iterator<Item = u64> {
    (0..KEYS).filter(move |number| (number * 31 + round * 17).is_multiple_of(3))
}

/// Reads while another thread writes: each key has the value of this round or of the next.
fn read_while_written(database: &Database, model: &BTreeMap<Vec<u8>, Vec<u8>>, next: u64) {
    std::thread::scope(|scope| {
        for first in 0..3 {
            scope.spawn(move || {
                for number in (first..KEYS).step_by(7) {
                    let found = database.get(&key(number)).unwrap().map(|value| value.to_vec());
                    let before = model.get(&key(number));
                    let is_right = found.as_ref() == before || found == Some(value(number, next));
                    assert!(is_right, "key {number} has a value of neither round");
                }
            });
        }
        scope.spawn(|| written(next).for_each(|number| database.put(&key(number), &value(number, next)).unwrap()));
    });
}

#[test]
fn all_ways_to_read_give_the_same_answers() {
    for (read, flush) in READS.iter().flat_map(|read| [(*read, Flush::Index), (*read, Flush::Copy)]) {
        let directory = tempfile::tempdir().unwrap();
        let mut model = BTreeMap::new();
        for round in 0..ROUNDS {
            let database = options(read, flush).open(directory.path()).unwrap();
            read_while_written(&database, &model, round);
            model.extend(written(round).map(|number| (key(number), value(number, round))));
            if round % 2 == 1 {
                database.compact().unwrap();
            }
            assert!(all(&database).unwrap() == model, "{read:?}, {flush:?}, round {round}");
            let mut backward = database.range(..).unwrap();
            backward.seek_to_last().unwrap();
            for (expected_key, expected_value) in model.iter().rev() {
                assert_eq!(backward.entry(), Some((&**expected_key, &**expected_value)));
                backward.backward().unwrap();
            }
        }
        // What one way wrote, the others read.
        for other in READS {
            let database = options(*other, flush).open(directory.path()).unwrap();
            assert!(all(&database).unwrap() == model, "{other:?} after {read:?}");
            assert!(database.verify().is_sound());
        }
    }
}
