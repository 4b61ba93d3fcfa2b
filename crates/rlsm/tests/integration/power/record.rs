//! Recording the writes of a power cycle: the host's part and the guest's.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rlsm::Database;
use rlsm::storage::DiskStorage;

use super::device;
use super::guest::{self, DATABASE};
use super::machine::{Machine, PATH, TASK};
use super::marked_storage::{MarkedStorage, MarkerWriter};
use super::power_cycles::{self, PowerCycles};
use super::recording::Recording;
use super::settings::Settings;
use crate::support::batch;
use crate::support::work::Step;

/// Environment variables of the guest.
pub const CYCLES: &str = "RLSM_POWER_CYCLES";
const SETTINGS: &str = "RLSM_POWER_SETTINGS";

/// The number of batches until the power cut.
const BATCHES: u64 = 300;

/// The recorded device, in the guest.
const RECORDED: &str = "/dev/dm-0";

/// The size of the device that takes the recording, as a sparse file.
const RECORDING_BYTES: u64 = 1 << 30;

/// After this many scans ranges are sorted.
const SCANS: u32 = 64;

/// Runs one power cycle on a device with the content of `image`.
pub fn record(machine: &Machine, image: &[u8], cycles: &PowerCycles, settings: Settings) -> Recording {
    let names = ["device", "log"];
    let [device, log] = names.map(|name| machine.directory().join(name));
    device::write(image, &device).unwrap();
    File::create(&log).unwrap().set_len(RECORDING_BYTES).unwrap();
    let task = [(TASK, "record"), (CYCLES, &cycles.to_word()), (SETTINGS, &settings.to_word())];
    machine.run(&task, &names.map(str::to_owned));
    Recording::read(&log)
}

/// The guest's part.
pub fn live(mount: &Path) -> String {
    ["dm-mod", "dm-log-writes"].into_iter().for_each(guest::load);
    let sectors = device::DEVICE_BYTES / 512;
    dmsetup(&["create", "--noudevsync", "power", "--table", &format!("0 {sectors} log-writes /dev/ubda /dev/ubdb")]);
    let settings = Settings::from_word(&guest::variable(SETTINGS));
    guest::mount_ext4(Path::new(RECORDED), mount, settings.mount).unwrap();
    let cycles = PowerCycles::from_word(&guest::variable(CYCLES));
    let markers = MarkerWriter::on(Path::new(RECORDED)).unwrap();
    let disk = DiskStorage::create(mount.join(DATABASE)).unwrap();
    let storage = MarkedStorage { disk, markers: markers.clone(), syncs_runs: settings.syncs_runs };
    let database = settings.options().open_on(Arc::new(storage)).unwrap();
    // What an opened database returns is durable too.
    markers.acknowledged(power_cycles::last(&database).unwrap());
    write(&database, &cycles, settings.acknowledges_each, &markers);
    // From here on the device fails, in the middle of what background threads do, and the recording ends. The file
    // system is not prepared for that.
    dmsetup(&["wipe_table", "--noudevsync", "--nolockfs", "power"]);
    // A database without power is not closed.
    std::mem::forget(database);
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

fn dmsetup(arguments: &[&str]) {
    let status = Command::new("dmsetup").env("PATH", PATH).args(arguments).status().unwrap();
    assert!(status.success(), "dmsetup {arguments:?}: {status}");
}
