//! I/O errors: the database reports them, accepts no more writes, can still be read, and is complete after the next
//! opening.

use std::sync::Arc;

use rand::RngExt as _;
use rlsm::storage::simulated::Fault;
use rlsm::{Database, Error, Maintenance, Options, Sync};

use super::machine::{Machine, Problem};
use super::small;
use crate::support::all;

/// The number of faults that each test injects.
const FAULTS: u64 = 300;

/// The most steps until the fault strikes.
const STEPS_MAX: u32 = 300;

#[test]
fn a_fault_loses_nothing() {
    (0..FAULTS).for_each(|seed| try_seed(seed, Maintenance::Inline));
}

#[test]
fn a_fault_with_background_threads_loses_nothing() {
    (0..FAULTS / 3).for_each(|seed| try_seed(seed, Maintenance::Background));
}

fn try_seed(seed: u64, maintenance: Maintenance) {
    let mut machine = Machine::new(seed, maintenance);
    let fault =
        [Fault::Any, Fault::Read, Fault::Append, Fault::Sync, Fault::NoSpace][machine.chance.random_range(0..5)];
    let most = 8 << machine.chance.random_range(0..9);
    let operation = machine.chance.random_range(1..=most);
    machine.storage.fail_at(operation, fault);
    if let Err(problem) = strike(&mut machine, maintenance) {
        panic!("seed {seed}, {fault:?} at operation {operation}, {maintenance:?}: {problem}");
    }
}

fn strike(machine: &mut Machine, maintenance: Maintenance) -> Result<(), String> {
    let (options, sync) = small(&mut machine.chance, maintenance);
    match options.open_on(Arc::new(machine.storage.clone())) {
        Ok(database) => work(machine, &database, sync)?,
        Err(error) => check_is_io_error(&error)?,
    }
    if machine.chance.random_ratio(1, 2) {
        machine.storage = machine.storage.reboot();
        return machine.check();
    }
    machine.history.keep_acknowledged();
    // A fault that is still pending may strike now.
    let opened = options.maintenance(Maintenance::Inline).open_on(Arc::new(machine.storage.clone()));
    opened.map(drop).or_else(|error| check_is_io_error(&error))?;
    reopen(machine, options)
}

fn work(machine: &mut Machine, database: &Database, sync: Sync) -> Result<(), String> {
    let mut snapshots = Vec::new();
    for _ in 0..STEPS_MAX {
        match machine.step(database, sync == Sync::Always, &mut snapshots) {
            Ok(()) => {}
            Err(Problem::Wrong(problem)) => return Err(problem),
            Err(Problem::Refused(error)) => {
                check_is_io_error(&error)?;
                return check_after_failure(machine, database, &error);
            }
        }
    }
    Ok(())
}

fn check_is_io_error(error: &Error) -> Result<(), String> {
    match error {
        Error::Io { .. } | Error::Poisoned { .. } => Ok(()),
        other => Err(format!("an I/O error was returned as: {other}")),
    }
}

/// After a failure nothing is written any more, unless only a read failed, and everything can be read.
fn check_after_failure(machine: &mut Machine, database: &Database, error: &Error) -> Result<(), String> {
    let is_reading = matches!(error, Error::Io { operation, .. } if operation.starts_with("read"));
    let sync = database.sync();
    match &sync {
        Ok(()) if is_reading => machine.history.keep_acknowledged(),
        Ok(()) => return Err(format!("after `{error}` a sync went well")),
        Err(Error::Poisoned { .. }) => {
            let put = database.put(b"key00000", b"after the failure");
            if !matches!(put, Err(Error::Poisoned { .. })) {
                return Err(format!("after `{error}` a put was answered by {put:?}"));
            }
        }
        Err(other) => return Err(format!("after `{error}` a sync failed otherwise: {other}")),
    }
    let found = all(database).map_err(|again| format!("after `{error}` reading failed: {again}"))?;
    machine.history.could_be(&found)
}

fn reopen(machine: &mut Machine, options: Options) -> Result<(), String> {
    let options = options.maintenance(Maintenance::Inline).sync(Sync::Always);
    let open = || options.open_on(Arc::new(machine.storage.clone()));
    // A pending fault may fail this, or a read, once.
    let opened = open().or_else(|error| check_is_io_error(&error).map_or(Err(error), |()| open()));
    let database = opened.map_err(|error| format!("it cannot be opened again: {error}"))?;
    let found = all(&database).or_else(|_| all(&database)).map_err(|error| format!("it cannot be read: {error}"))?;
    machine.history.settle(&found)
}

#[test]
fn a_full_device_does_not_prevent_the_next_opening() {
    for fault_at in 1..120 {
        let storage = rlsm::storage::simulated::SimulatedStorage::new(fault_at);
        let options = Options::new().memtable_bytes(65_536).maintenance(Maintenance::Inline);
        drop(options.open_on(Arc::new(storage.clone())).unwrap());
        storage.fail_at(storage.operations() + fault_at, Fault::NoSpace);
        let mut acknowledged = 0_u32;
        let database = options.open_on(Arc::new(storage.clone()));
        if let Ok(database) = &database {
            while acknowledged < 200 && database.put(&acknowledged.to_be_bytes(), &[7; 1000]).is_ok() {
                acknowledged += 1;
            }
        }
        drop(database);
        let database = options.open_on(Arc::new(storage.clone())).unwrap();
        for key in 0..acknowledged {
            assert!(database.get(&key.to_be_bytes()).unwrap().is_some(), "{key} of {acknowledged}, fault {fault_at}");
        }
        database.compact().unwrap();
    }
}
