//! Crashes at random operations and at every fail point.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use rlsm::storage::simulated::SimulatedStorage;
use rlsm::{Batch, Database, Maintenance, Sync};

use super::machine::{CrashTime, Machine};
use super::small;
use crate::support::{from_environment, points};

/// The number of crashes of one machine before the next one starts empty.
const CRASHES_PER_MACHINE: u64 = 12;

/// The number of crashes that the first two tests inject together.
fn crashes() -> u64 {
    from_environment("RLSM_CRASHES").unwrap_or(1000)
}

/// How often a crash at a fail point was attempted, and how often the point was reached.
#[derive(Debug, Default, Clone, Copy)]
struct Tries {
    came: u64,
    tried: u64,
}

/// Injects crashes, half of them at the fail points that were reached least often.
fn crash(maintenance: Maintenance, first_seed: u64, count: u64) -> BTreeMap<String, Tries> {
    let mut points: BTreeMap<String, Tries> =
        points::in_source().into_iter().map(|name| (name, Tries::default())).collect();
    for seed in (first_seed..).take(count.div_ceil(CRASHES_PER_MACHINE) as usize) {
        let mut machine = Machine::new(seed, maintenance);
        for number in 0..CRASHES_PER_MACHINE {
            let (name, tries) = points.iter_mut().min_by_key(|(_, tries)| (tries.came, tries.tried)).unwrap();
            let when = if number % 2 == 0 {
                let most = 4 << machine.chance.random_range(0..10);
                CrashTime::Operation(machine.chance.random_range(1..=most))
            } else {
                let most = if tries.came == 0 { 1 } else { 4 };
                CrashTime::Point(name, machine.chance.random_range(1..=most))
            };
            let came = machine.run_until_crash(when).unwrap_or_else(|problem| {
                panic!("RLSM_CRASH_SEED={seed}, crash {number} at {when:?}, {maintenance:?}: {problem}")
            });
            if let CrashTime::Point(..) = when {
                tries.tried += 1;
                tries.came += u64::from(came);
            }
        }
    }
    points
}

#[test]
fn no_durable_write_is_lost_at_any_operation_or_fail_point() {
    let seed = from_environment("RLSM_CRASH_SEED").unwrap_or(1);
    let points = crash(Maintenance::Inline, seed, crashes() * 7 / 10);
    let never: Vec<_> = points.iter().filter(|(_, tries)| tries.came == 0).collect();
    assert!(never.is_empty(), "no machine crashed at {never:#?}");
}

#[test]
fn no_durable_write_is_lost_with_background_threads() {
    let seed = from_environment("RLSM_CRASH_SEED").unwrap_or(1_000_000);
    crash(Maintenance::Background, seed, crashes() * 3 / 10);
}

#[test]
fn no_durable_write_is_lost_with_concurrent_writers() {
    let first_seed = from_environment("RLSM_CRASH_SEED").unwrap_or(2_000_000);
    for seed in first_seed..first_seed + crashes().div_ceil(10) {
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        let machine = SimulatedStorage::new(seed);
        let options = small(&mut chance, Maintenance::Background).0.sync(Sync::Always);
        machine.crash_at_operation(chance.random_range(20..2000));
        let acknowledged: Vec<u64> = match options.open_on(Arc::new(machine.clone())) {
            Ok(database) => thread::scope(|scope| {
                let write = |writer| {
                    scope.spawn({
                        let database = &database;
                        move || write_until_it_fails(database, writer)
                    })
                };
                let writers: Vec<_> = (0..WRITERS).map(write).collect();
                writers.into_iter().map(|writer| writer.join().unwrap()).collect()
            }),
            Err(_) => vec![0; WRITERS as usize],
        };
        let database = options.open_on(Arc::new(machine.reboot())).unwrap();
        for (writer, acknowledged) in (0..WRITERS).zip(acknowledged) {
            let count = |number| database.get(&[writer, number]).unwrap().map_or(0, |value| value[0].into());
            let counts: Vec<u64> = (0..KEYS).map(count).collect();
            assert!(
                counts.iter().all(|count| *count == counts[0]),
                "seed {seed}: a partial batch was found: {counts:?}"
            );
            let is_kept = (acknowledged..=acknowledged + 1).contains(&counts[0]);
            assert!(is_kept, "seed {seed}: {acknowledged} batches were acknowledged, {} are there", counts[0]);
        }
    }
}

const WRITERS: u8 = 4;

/// The number of keys that each batch sets to the same value.
const KEYS: u8 = 5;

/// Writes batches until one fails. Returns how many were acknowledged.
fn write_until_it_fails(database: &Database, writer: u8) -> u64 {
    for count in 1..=250 {
        let mut batch = Batch::new();
        (0..KEYS).for_each(|number| batch.put(&[writer, number], &[count; 400]).unwrap());
        if database.write(batch).is_err() {
            return u64::from(count) - 1;
        }
    }
    250
}
