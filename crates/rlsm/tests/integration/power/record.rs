//! Recording the writes of a power cycle: the host's part and the guest's.

use std::path::Path;
use std::sync::Arc;

use manometer_testing::power::{self, Machine, MarkerWriter, Recording};
use rlsm::Database;
use rlsm::storage::DiskStorage;

use super::marked_storage::MarkedStorage;
use super::power_cycles::{self, PowerCycles};
use super::settings::Settings;
use crate::support::batch;
use crate::support::work::Step;

/// The database's directory in the file system.
pub const DATABASE: &str = "database";

/// Variables of the guest.
pub const CYCLES: &str = "RLSM_POWER_CYCLES";
const SETTINGS: &str = "RLSM_POWER_SETTINGS";

/// The number of batches until the power cut.
const BATCHES: u64 = 300;

/// After this many scans ranges are sorted.
const SCANS: u32 = 64;

/// Runs one power cycle on a device with the content of `image`.
pub fn record(machine: &Machine, image: &[u8], cycles: &PowerCycles, settings: Settings) -> Recording {
    power::record(machine, image, &[(CYCLES, &cycles.to_word()), (SETTINGS, &settings.to_word())])
}

/// The guest's part.
pub fn live(mount: &Path) -> String {
    let settings = Settings::from_word(&power::variable(SETTINGS));
    let cycles = PowerCycles::from_word(&power::variable(CYCLES));
    power::work_until_cut(mount, settings.mount, |markers| {
        let disk = DiskStorage::create(mount.join(DATABASE)).unwrap();
        let storage = MarkedStorage { disk, markers: markers.clone(), syncs_runs: settings.syncs_runs };
        let database = settings.options().open_on(Arc::new(storage)).unwrap();
        // What an opened database returns is durable too.
        markers.acknowledged(power_cycles::last(&database).unwrap());
        write(&database, &cycles, settings.acknowledges_each, markers);
        database
    });
    String::new()
}

fn write(database: &Database, cycles: &PowerCycles, acknowledges_each: bool, markers: &MarkerWriter) {
    let mut steps = cycles.steps();
    let end = steps.number + BATCHES;
    while steps.number < end {
        let step = steps.next();
        match &step {
            Step::Write(writes) => database.write(batch(writes)).unwrap(),
            Step::Sync => database.sync().unwrap(),
            Step::Flush => database.flush().unwrap(),
            Step::Compact => database.compact().unwrap(),
            Step::Settle => database.settle().unwrap(),
            Step::Scan => (0..SCANS).for_each(|_| database.range(..).unwrap().seek_to_first().unwrap()),
            Step::Snapshot | Step::Release | Step::Look => {}
        }
        let syncs = matches!(step, Step::Sync | Step::Flush | Step::Compact);
        if syncs || acknowledges_each && matches!(step, Step::Write(_)) {
            markers.acknowledged(steps.number);
        }
        if steps.number.is_multiple_of(50) {
            println!("batch {}", steps.number);
        }
    }
}
