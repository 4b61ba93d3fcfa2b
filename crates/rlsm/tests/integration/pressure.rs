//! The behaviour of a database under pressure, and afterwards.

use std::ops::Range;
use std::sync::Arc;

use rlsm::storage::simulated::SimulatedStorage;
use rlsm::{Compression, Database, Maintenance, Options, Stats};

const KEYS: u64 = 3000;

fn options() -> Options {
    let options = Options::new().memtable_bytes(65_536).range_bytes(131_072).compaction_bytes(65_536);
    options.level1_compression(Compression::None).maintenance(Maintenance::Inline)
}

fn open(options: Options) -> Database {
    options.open_on(Arc::new(SimulatedStorage::new(1))).unwrap()
}

/// Overwrites keys from the whole key space in batches.
fn overwrite(database: &Database, batches: Range<u64>) {
    for number in batches {
        let mut batch = rlsm::Batch::new();
        for place in 0..32 {
            let key = (number * 32 + place) * 7919 % KEYS;
            batch.put(&key.to_be_bytes(), &[number as u8; 100]).unwrap();
        }
        database.write(batch).unwrap();
    }
}

fn all(database: &Database) -> Vec<rlsm::KvPair> {
    database.range(..).unwrap().map(Result::unwrap).collect()
}

fn run(options: Options, batches: u64) -> (Vec<rlsm::KvPair>, Stats) {
    let database = open(options);
    overwrite(&database, 0..batches);
    database.flush().unwrap();
    database.settle().unwrap();
    (all(&database), database.stats().unwrap())
}

#[test]
fn pressure_postpones_rewrites_within_bounds() {
    let (kept, plain) = run(options(), 1000);
    let (found, felt) = run(options().alternating_pressure(), 1000);
    assert_eq!(found, kept);
    assert_eq!(plain.postponed_bytes, 0);
    assert!(felt.postponed_bytes > 0);
    assert!(felt.rebalance_bytes > 0);
    assert!(felt.range_runs_max <= rlsm::plan::RANGE_RUNS_MAX as u64, "{felt:?}");
    // The limit of superseded bytes under pressure: twice 0.4 per live byte, and three tenths more by the jitter.
    let live_bytes = KEYS as f64 * 120.0;
    assert!((felt.level1_bytes as f64) < live_bytes * (1.0 + 2.0 * 0.4 * 1.3) * 1.1, "{felt:?}");
}

#[test]
fn postponed_rewrites_are_done_after_the_pressure() {
    let database = open(options().alternating_pressure());
    let postponed = || database.stats().unwrap().postponed_ranges;
    let writes = |numbers: Range<u64>| numbers.map(|number| overwrite(&database, number..number + 1));
    assert!(writes(0..1000).any(|()| postponed() > 0), "no rewrite was postponed");
    let mut settled = writes(1000..1128).map(|()| database.settle());
    assert!(settled.any(|settled| settled.is_ok() && postponed() == 0), "{} rewrites are still postponed", postponed());
}

#[test]
fn without_pressure_nothing_changes() {
    let (kept, plain) = run(options(), 300);
    let (found, felt) = run(options().feel_pressure(true), 300);
    assert_eq!(found, kept);
    let ends = |stats: &Stats| (stats.written_bytes(), stats.level1_bytes, stats.level1_runs, stats.squeezes);
    assert_eq!(ends(&felt), ends(&plain));
}
