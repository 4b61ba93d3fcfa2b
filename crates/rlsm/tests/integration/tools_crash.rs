//! Backup and repair on a machine that crashes at any operation.

use std::sync::Arc;

use rlsm::storage::Storage;
use rlsm::storage::simulated::SimulatedStorage;
use rlsm::{Error, Maintenance, Options, Sync};

use crate::support::{Model, all};

/// A crash is injected at every operation whose number is a multiple of this, plus 1.
const STEP: usize = 3;

fn options() -> Options {
    Options::new().memtable_bytes(64 << 10).sync(Sync::Never).maintenance(Maintenance::Inline)
}

/// A machine with a durable database, and its content.
fn filled(seed: u64) -> (SimulatedStorage, Model) {
    let machine = SimulatedStorage::new(seed);
    let database = options().open_on(Arc::new(machine.clone())).unwrap();
    let mut model = Model::new();
    for number in 0_u32..1500 {
        let (key, value) = (format!("key{:04}", number * 37 % 700), format!("{number}").repeat(40));
        database.put(key.as_bytes(), value.as_bytes()).unwrap();
        model.insert(key.into_bytes(), value.into_bytes());
    }
    database.sync().unwrap();
    drop(database);
    (machine, model)
}

fn storage(machine: &SimulatedStorage) -> Arc<dyn Storage> {
    Arc::new(machine.clone())
}

#[test]
fn a_crashed_repair_can_be_repeated() {
    let mut crashes = 0;
    for step in (1..).step_by(STEP) {
        let (machine, model) = filled(step as u64);
        let manifest = machine.list().unwrap().into_iter().find(|name| name.starts_with("manifest")).unwrap();
        machine.remove(&manifest).unwrap();
        machine.sync_directory().unwrap();
        machine.crash_at_operation(machine.operations() + step as u64);
        let finished = rlsm::repair_on(&storage(&machine)).is_ok();
        crashes += 1;
        let machine = machine.reboot();
        rlsm::repair_on(&storage(&machine)).unwrap_or_else(|error| panic!("crash at {step}: {error}"));
        assert!(rlsm::verify_on(&machine).unwrap().is_sound(), "crash at {step}");
        assert_eq!(all(&options().open_on(storage(&machine)).unwrap()).unwrap(), model, "crash at {step}");
        if finished {
            break;
        }
    }
    assert!(crashes > 10, "{crashes}");
}

#[test]
fn a_crashed_backup_is_no_database_or_a_whole_one() {
    let mut was_there = [0, 0];
    for step in (1..).step_by(STEP) {
        let (machine, model) = filled(step as u64);
        let database = options().open_on(storage(&machine)).unwrap();
        let target = SimulatedStorage::new(step as u64);
        target.crash_at_operation(step as u64);
        let finished = database.backup_on(&storage(&target)).is_ok();
        let target = target.reboot();
        match options().open_on(storage(&target)) {
            Ok(copy) if !copy.recovery().is_new => {
                assert_eq!(all(&copy).unwrap(), model, "crash at {step}");
                was_there[1] += 1;
            }
            Ok(_) | Err(Error::Corrupt { .. }) => was_there[0] += 1,
            Err(error) => panic!("crash at {step}: {error}"),
        }
        assert_eq!(all(&database).unwrap(), model);
        if finished {
            break;
        }
    }
    assert!(was_there[0] > 3 && was_there[1] > 0, "{was_there:?}");
}
