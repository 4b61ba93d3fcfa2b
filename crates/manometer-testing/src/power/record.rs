//! Recording what a guest writes until its device fails: the host's part and the guest's.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use super::machine::{Machine, PATH, TASK};
use super::marker::MarkerWriter;
use super::recording::Recording;
use super::{device, guest};

/// The recorded device, in the guest.
const RECORDED: &str = "/dev/dm-0";

/// The size of the device that takes the recording, as a sparse file.
const RECORDING_BYTES: u64 = 1 << 30;

/// Runs the guest's task `record`, with these variables, on a device with the content of `image`.
pub fn record(machine: &Machine, image: &[u8], variables: &[(&str, &str)]) -> Recording {
    let names = ["device", "log"];
    let [device, log] = names.map(|name| machine.directory().join(name));
    device::write(image, &device).unwrap();
    File::create(&log).unwrap().set_len(RECORDING_BYTES).unwrap();
    let task = [&[(TASK, "record")], variables].concat();
    machine.run(&task, &names.map(str::to_owned));
    Recording::read(&log)
}

/// The guest's part: mounts the device with these options, lets `work` use it, and cuts the device off while what `work`
/// returned still lives: nothing is closed.
pub fn work_until_cut<T>(mount: &Path, options: &str, work: impl FnOnce(&MarkerWriter) -> T) {
    ["dm-mod", "dm-log-writes"].into_iter().for_each(guest::load);
    let sectors = device::DEVICE_BYTES / 512;
    dmsetup(&["create", "--noudevsync", "power", "--table", &format!("0 {sectors} log-writes /dev/ubda /dev/ubdb")]);
    guest::mount_ext4(Path::new(RECORDED), mount, options).unwrap();
    let user = work(&MarkerWriter::on(Path::new(RECORDED)).unwrap());
    // From here on the device fails, in the middle of what background threads do, and the recording ends. The file
    // system is not prepared for that.
    dmsetup(&["wipe_table", "--noudevsync", "--nolockfs", "power"]);
    std::mem::forget(user);
}

fn dmsetup(arguments: &[&str]) {
    let status = Command::new("dmsetup").env("PATH", PATH).args(arguments).status().unwrap();
    assert!(status.success(), "dmsetup {arguments:?}: {status}");
}
