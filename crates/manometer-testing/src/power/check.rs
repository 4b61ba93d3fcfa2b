//! Checking the devices after power cuts: the host's part and the guest's.

use std::path::{Path, PathBuf};

use super::cut::{Cut, Replay};
use super::machine::{Machine, TASK};
use super::recording::Recording;
use super::{device, guest};

/// The most devices of a guest.
pub const DEVICES_MAX: usize = 16;

/// What a device has after a power cut.
#[derive(Debug)]
pub struct Checked {
    /// The number of what was acknowledged last before the cut.
    pub acknowledged: u64,
    /// What the guest says of it: a line.
    pub line: String,
    /// Whether its file system is sound.
    pub file_system: Result<(), String>,
}

/// Runs the guest's task `check`, with these variables, on the device after each of the cuts, which are in order. `acknowledged`
/// is what was before the recording.
pub fn check(
    machine: &Machine,
    image: &[u8],
    recording: &Recording,
    (cuts, acknowledged): (&[Cut], u64),
    variables: &[(&str, &str)],
) -> Vec<Checked> {
    assert!(cuts.len() <= DEVICES_MAX);
    let mut replay = Replay::new(recording, image.to_vec(), acknowledged);
    let names: Vec<_> = (0..cuts.len()).map(|index| format!("cut-{index}")).collect();
    let make = |(cut, name): (&Cut, &String)| {
        let (image, acknowledged) = replay.cut(cut);
        device::write(&image, &machine.directory().join(name)).unwrap();
        acknowledged
    };
    let acknowledged: Vec<u64> = cuts.iter().zip(&names).map(make).collect();
    let report = machine.run(&[&[(TASK, "check")], variables].concat(), &names);
    assert_eq!(report.lines().count(), cuts.len(), "the guest reported:\n{report}");
    let checked = |((line, name), acknowledged): ((&str, &String), u64)| Checked {
        acknowledged,
        line: line.to_owned(),
        file_system: device::check(&machine.directory().join(name)),
    };
    report.lines().zip(&names).zip(acknowledged).map(checked).collect()
}

/// The guest's part: `look_at` says in a line what is on a device that is mounted, or what is wrong with it.
pub fn look_at_devices(mount: &Path, look_at: impl Fn(&Path) -> Result<String, String>) -> String {
    let look_at = |device: PathBuf| {
        println!("{}", device.display());
        let mounted = guest::mount_ext4(&device, mount, "").map_err(|error| format!("it cannot be mounted: {error}"));
        let found = mounted.and_then(|()| {
            let found = look_at(mount);
            guest::unmount_ext4(mount).unwrap();
            found
        });
        found.unwrap_or_else(|problem| problem).replace('\n', " ") + "\n"
    };
    guest::devices().into_iter().map(look_at).collect()
}
