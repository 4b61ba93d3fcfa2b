//! Ranges that are scanned often are written in the order of their keys.

use std::sync::Arc;

use rlsm::storage::simulated::Simulated;
use rlsm::{Maintenance, Options, Sync};

#[test]
fn a_scanned_range_is_sorted_and_answers_as_before() {
    let options = Options::new().memtable_bytes(65_536).sync(Sync::Never).maintenance(Maintenance::Inline);
    let database = options.open_on(Arc::new(Simulated::new(1))).unwrap();
    let key = |number: u32| format!("{:05}", number * 7919 % 10_007).into_bytes();
    for number in 0..5000 {
        database.put(&key(number), &number.to_le_bytes()).unwrap();
    }
    database.compact().unwrap();
    let before = database.stats().unwrap().rebalance_bytes;
    let first_keys = || database.range(&b"05"[..]..).unwrap().take(10).collect::<rlsm::Result<Vec<_>>>().unwrap();
    let expected = first_keys();
    for _ in 0..100 {
        assert_eq!(first_keys(), expected);
    }
    database.settle().unwrap();
    let after = database.stats().unwrap().rebalance_bytes;
    assert!(after > before, "no range was written anew");
    assert_eq!(first_keys(), expected);
    for number in (0..5000).step_by(11) {
        assert_eq!(database.get(&key(number)).unwrap().as_deref(), Some(&number.to_le_bytes()[..]));
    }
    database.settle().unwrap();
    assert_eq!(database.stats().unwrap().rebalance_bytes, after, "it is sorted once");
}
