//! What the table does in a second of processor time. Run with `cargo test --release -p rlsm memtable::speed -- --ignored --nocapture`.

use std::hint::black_box;

use rustix::time::{ClockId, clock_gettime};

use super::*;
use crate::merge::Merged;

const KEYS: u64 = 1_000_000;

fn key_of(number: u64) -> [u8; 16] {
    let mut key = [b'0'; 16];
    key[8..].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    key
}

/// Counts processor time: what others do on this machine is not in it.
fn timed<T>(what: &str, times: u64, work: impl FnOnce() -> T) -> T {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let start = now();
    let done = work();
    println!("{what:40} {:8.2} million/s", times as f64 / (now() - start) / 1e6);
    done
}

fn get_all(table: &Memtable, order: impl Iterator<Item = u64>) {
    for number in order {
        let key = key_of(number);
        black_box(table.get(hash(&key), &key, Sequence::MAX));
    }
}

#[test]
#[ignore = "measures"]
fn in_a_second() {
    let table = Arc::new(Memtable::new(192 << 20));
    let insert = |table: &Memtable, from: u64| {
        for number in 0..KEYS {
            let sequence = from + number;
            table.insert(Entry { key: &key_of(number), sequence, kind: Kind::Put, value: &[7; 100] });
        }
    };
    timed("insert", KEYS, || insert(&table, 0));
    println!("{:40} {:8.1} bytes", "memory per entry", table.bytes() as f64 / KEYS as f64);
    timed("get, as inserted", KEYS, || get_all(&table, 0..KEYS));
    timed("get, at random", KEYS, || get_all(&table, (0..KEYS).map(|number| number * 7_919 % KEYS)));
    timed("get, at random among 10,000", KEYS, || get_all(&table, (0..KEYS).map(|number| number * 7_919 % 10_000)));
    timed("get, absent", KEYS, || get_all(&table, KEYS..2 * KEYS));
    timed("in hash order", KEYS, || black_box(table.in_hash_order().map(|entry| entry.sequence).sum::<u64>()));
    timed("insert again", KEYS, || insert(&table, KEYS));
    let mut cursor = timed("order", KEYS, || table.cursor(Sequence::MAX));
    timed("cursor, next", KEYS, || {
        cursor.first().unwrap();
        while cursor.entry().is_some() {
            cursor.next().unwrap();
        }
    });
    timed("cursor, previous", KEYS, || {
        cursor.last().unwrap();
        while cursor.entry().is_some() {
            cursor.previous().unwrap();
        }
    });
    timed("cursor, seek", KEYS, || (0..KEYS).for_each(|number| cursor.seek(&key_of(number * 7_919 % KEYS)).unwrap()));
    let other = Arc::new(Memtable::new(192 << 20));
    timed("order, nothing there", 1, || other.cursor(Sequence::MAX));
    timed("insert in order too", KEYS, || insert(&other, 0));
    for sources in [2, 16] {
        let cursors = (0..sources).map(|_| Box::new(other.cursor(Sequence::MAX)) as Box<dyn Cursor>).collect();
        let mut merged = Merged::new(cursors, Arc::default(), Default::default(), Sequence::MAX);
        timed(&format!("merged of {sources}, next, versions"), KEYS * sources, || {
            merged.first().unwrap();
            while merged.entry().is_some() {
                merged.next().unwrap();
            }
        });
    }
    timed("free", KEYS, || drop((table, cursor)));
}
