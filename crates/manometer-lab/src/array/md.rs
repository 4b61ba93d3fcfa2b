//! RAID arrays by md.

use std::path::{Path, PathBuf};

use manometer_cache::RaidLevel;
use manometer_cache::tier::RaidArray;

use super::journal::ArrayJournal;
use super::undo::Undo;
use crate::{LabError, program};

/// What md keeps at the start of each device, before the data.
const DATA_OFFSET_BYTES: u64 = 1 << 20;

/// Numbers from here on are rarely taken.
const FIRST_NUMBER: u32 = 100;

/// The size of a device of which an array gets `share` bytes for data.
pub(super) fn member_bytes(share: u64, level: RaidLevel) -> u64 {
    if level == RaidLevel::None { share } else { share + DATA_OFFSET_BYTES }
}

/// Combines devices to an array of which each gives `share` bytes. Of a single one without a level, itself. `are_new`
/// says that all of them read as zeros, so that their parity or copies are right already.
pub(super) fn combine(
    devices: &[PathBuf],
    array: RaidArray,
    share: u64,
    are_new: bool,
    journal: &mut ArrayJournal,
) -> Result<PathBuf, LabError> {
    let level = match (array.raid, devices) {
        (RaidLevel::None, [device]) => return Ok(device.clone()),
        (RaidLevel::None, _) => {
            return Err(LabError::Refused("several devices need a `raid` level in the arrangement".to_owned()));
        }
        (RaidLevel::Raid0, _) => "0",
        (RaidLevel::Raid1, _) => "1",
        (RaidLevel::Raid10, _) => "10",
        (RaidLevel::Raid5, _) => "5",
    };
    let path = free_device()?;
    let sysfs = Path::new("/sys/block").join(path.file_name().unwrap_or_default()).join("md");
    let device = path.display().to_string();
    let options = [
        format!("--level={level}"),
        format!("--raid-devices={}", devices.len()),
        format!("--size={}K", share >> 10),
        format!("--data-offset={}K", DATA_OFFSET_BYTES >> 10),
        format!("--chunk={}K", array.chunk >> 10),
    ];
    let members: Vec<String> = devices.iter().map(|device| device.display().to_string()).collect();
    let mut arguments = vec!["--create", &device, "--run", "--quiet", "--metadata=1.2", "--homehost=any"];
    // Level 0 takes what its devices have, and level 1 has no chunks.
    let keeps = |option: &&String| match array.raid {
        RaidLevel::Raid0 => !option.starts_with("--size"),
        RaidLevel::Raid1 => !option.starts_with("--chunk"),
        _ => true,
    };
    arguments.extend(options.iter().filter(keeps).map(String::as_str));
    if array.raid != RaidLevel::Raid0 {
        arguments.push("--bitmap=none");
        arguments.extend(are_new.then_some("--assume-clean"));
    }
    arguments.extend(members.iter().map(String::as_str));
    for member in &members {
        journal.record(Undo::run(&["wipefs", "--all", "--quiet", member], Path::new(member)))?;
    }
    journal.record(Undo::run(&["mdadm", "--stop", "--quiet", &device], &sysfs))?;
    program::run("mdadm", &arguments)?;
    if array.raid != RaidLevel::Raid0 && !are_new {
        // While it resynchronises, it is another device.
        wait_for_resync(&device)?;
    }
    Ok(path)
}

/// Takes together what was an array before, some of whose devices may be missing.
pub(super) fn assemble(devices: &[PathBuf], level: RaidLevel, journal: &mut ArrayJournal) -> Result<PathBuf, LabError> {
    match (level, devices) {
        (_, []) => return Err(LabError::Kernel("none of its disks is left".to_owned())),
        (RaidLevel::None, [device]) => return Ok(device.clone()),
        _ => {}
    }
    let path = free_device()?;
    let device = path.display().to_string();
    let sysfs = Path::new("/sys/block").join(path.file_name().unwrap_or_default()).join("md");
    let members: Vec<String> = devices.iter().map(|device| device.display().to_string()).collect();
    let mut arguments = vec!["--assemble", "--run", "--quiet", &device];
    arguments.extend(members.iter().map(String::as_str));
    journal.record(Undo::run(&["mdadm", "--stop", "--quiet", &device], &sysfs))?;
    program::run("mdadm", &arguments).map(|_| path)
}

/// `mdadm --wait` fails where there was nothing to wait for.
fn wait_for_resync(device: &str) -> Result<(), LabError> {
    let _ = program::run("mdadm", &["--wait", device]);
    program::run("mdadm", &["--detail", "--test", device]).map(drop)
}

/// A device of md that is not there yet.
fn free_device() -> Result<PathBuf, LabError> {
    let number =
        (FIRST_NUMBER..FIRST_NUMBER + 100).find(|number| !Path::new(&format!("/sys/block/md{number}")).exists());
    let none = || LabError::Kernel("there are too many md arrays".to_owned());
    number.map(|number| PathBuf::from(format!("/dev/md{number}"))).ok_or_else(none)
}
