//! The power-state transitions of NVMe disks (APST): disabled while measuring, restored afterwards.
//!
//! The previous values are in the ledger first: where a run is killed, the next one restores them.

#![expect(clippy::disallowed_methods, reason = "files of the kernel")]

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use manometer_measure::host::{LayerKind, device_of, layers_of, nvme_controllers};

use super::error::PrepareError;
use super::ledger::{Ledger, LedgerEntry};
use crate::boot_id::boot_id;

/// The maximum wake-up latency of a controller, below its folder in sysfs. 0 forbids power-state transitions.
const LATENCY_TOLERANCE: &str = "power/pm_qos_latency_tolerance_us";

/// The files that control the transitions of the disks below `directory`.
pub(super) fn latency_files(directory: &Path) -> Vec<PathBuf> {
    let layers = device_of(directory).map(|device| layers_of(&device)).unwrap_or_default();
    let disks = layers.into_iter().filter(|layer| layer.kind == LayerKind::Disk);
    disks.flat_map(|layer| latency_files_of(&layer.device.sysfs)).collect()
}

/// The files of the disk whose folder in sysfs is `disk`, one for each of its controllers.
fn latency_files_of(disk: &Path) -> Vec<PathBuf> {
    let controllers = nvme_controllers(disk).into_iter();
    controllers.map(|controller| controller.join(LATENCY_TOLERANCE)).filter(|file| file.exists()).collect()
}

/// Disables the transitions that `files` control.
///
/// # Errors
/// A file cannot be read or written. Then all are as before.
pub(super) fn disable(files: &[PathBuf], ledger: &mut Ledger) -> Result<(), PrepareError> {
    let before = read_writable(files)?;
    if before.is_empty() {
        return Ok(());
    }
    let disabled = LedgerEntry::Power { before, boot_id: boot_id(), restored: false };
    ledger.append(&Ledger::new_id("power"), disabled)?;
    for file in files {
        if let Err(source) = fs::write(file, "0") {
            restore(ledger)?;
            return Err(PrepareError::Power { path: file.clone(), source });
        }
    }
    Ok(())
}

/// The values of `files`, which must be writable.
///
/// # Errors
/// One cannot be read or written.
pub(super) fn read_writable(files: &[PathBuf]) -> Result<Vec<(PathBuf, String)>, PrepareError> {
    let read = |file: &PathBuf| {
        let text = OpenOptions::new().write(true).open(file).and_then(|_| fs::read_to_string(file));
        let text = text.map_err(|source| PrepareError::Power { path: file.clone(), source })?;
        Ok((file.clone(), text.trim().to_owned()))
    };
    files.iter().map(read).collect()
}

/// Restores all values that are not restored yet. Those of an earlier boot are obsolete.
///
/// # Errors
/// A file or the ledger cannot be written.
pub(super) fn restore(ledger: &mut Ledger) -> Result<(), PrepareError> {
    let disabled: Vec<(String, LedgerEntry)> =
        ledger.entries().power_not_restored().map(|(id, entry)| (id.to_owned(), entry.clone())).collect();
    for (id, entry) in disabled {
        let LedgerEntry::Power { before, boot_id: then, .. } = entry else { continue };
        if then.is_none() || then == boot_id() {
            for (file, text) in &before {
                write_back(file, text)
                    .map_err(|source| PrepareError::PowerNotRestored { path: file.clone(), source })?;
            }
        }
        ledger.append(&id, LedgerEntry::Power { before, boot_id: then, restored: true })?;
    }
    Ok(())
}

/// Writes `text` to `file` where it differs. The file of a removed disk is ignored.
fn write_back(file: &Path, text: &str) -> io::Result<()> {
    match fs::read_to_string(file) {
        Ok(now) if now.trim() == text => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        _ => fs::write(file, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(dir: &Path, name: &str, text: &str) -> PathBuf {
        let file = dir.join(name).join(LATENCY_TOLERANCE);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }

    #[test]
    fn every_controller_of_a_multipath_disk_has_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let device = dir.path().join("device");
        assert!(latency_files_of(dir.path()).is_empty());
        let own = disk(dir.path(), "device", "5\n");
        assert_eq!(latency_files_of(dir.path()), [own]);
        let both = [disk(&device, "nvme0", "5\n"), disk(&device, "nvme1", "5\n")];
        fs::create_dir_all(device.join("nvme2/power")).unwrap();
        assert_eq!(latency_files_of(dir.path()), both, "a controller without transitions has no file");
    }

    #[test]
    fn transitions_are_disabled_and_restored() {
        let dir = tempfile::tempdir().unwrap();
        let files = [disk(dir.path(), "nvme0n1", "100000\n"), disk(dir.path(), "nvme1n1", "auto\n")];
        let mut ledger = Ledger::in_folder(dir.path());
        disable(&files, &mut ledger).unwrap();
        assert!(files.iter().all(|file| fs::read_to_string(file).unwrap() == "0"));
        // Killed here: the next one restores them.
        drop(ledger);
        let mut ledger = Ledger::in_folder(dir.path());
        restore(&mut ledger).unwrap();
        assert_eq!(files.each_ref().map(|file| fs::read_to_string(file).unwrap()), ["100000", "auto"]);
        assert_eq!(ledger.entries().power_not_restored().count(), 0);
    }

    #[test]
    fn a_removed_disk_is_no_error() {
        let dir = tempfile::tempdir().unwrap();
        let file = disk(dir.path(), "nvme0n1", "0\n");
        let mut ledger = Ledger::in_folder(dir.path());
        disable(&[], &mut ledger).unwrap();
        assert_eq!(ledger.entries().power_not_restored().count(), 0);
        disable(std::slice::from_ref(&file), &mut ledger).unwrap();
        fs::remove_file(&file).unwrap();
        restore(&mut ledger).unwrap();
        assert_eq!(ledger.entries().power_not_restored().count(), 0);
    }

    #[test]
    fn unchanged_files_and_those_of_an_earlier_boot_are_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let as_before = disk(dir.path(), "nvme0n1", "100000\n");
        let mut ledger = Ledger::in_folder(dir.path());
        let entry = |file: &Path, boot_id: Option<String>| {
            let before = vec![(file.to_owned(), "100000".to_owned())];
            LedgerEntry::Power { before, boot_id, restored: false }
        };
        ledger.append("killed-before-writing", entry(&as_before, boot_id())).unwrap();
        let started_again = disk(dir.path(), "nvme1n1", "5\n");
        ledger.append("before-the-start", entry(&started_again, Some("another".to_owned()))).unwrap();
        // A folder cannot be written, not even by root.
        fs::remove_file(&started_again).unwrap();
        fs::create_dir(&started_again).unwrap();
        restore(&mut ledger).unwrap();
        assert_eq!(ledger.entries().power_not_restored().count(), 0);
        assert_eq!(fs::read_to_string(&as_before).unwrap(), "100000\n", "its value is unchanged");
        ledger.append("disabled", entry(&started_again, boot_id())).unwrap();
        let error = restore(&mut ledger).unwrap_err();
        assert!(error.to_string().contains("run once as root"), "{error}");
    }

    #[test]
    fn an_unwritable_file_leaves_no_entry() {
        let dir = tempfile::tempdir().unwrap();
        let first = disk(dir.path(), "nvme0n1", "100000\n");
        let second = dir.path().join("nvme1n1");
        fs::create_dir(&second).unwrap();
        let mut ledger = Ledger::in_folder(dir.path());
        disable(&[first.clone(), second], &mut ledger).unwrap_err();
        assert_eq!(ledger.entries().power_not_restored().count(), 0);
        assert_eq!(fs::read_to_string(&first).unwrap(), "100000\n");
    }

    #[test]
    fn a_missing_file_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::in_folder(dir.path());
        let error = disable(&[dir.path().join("nothing")], &mut ledger).unwrap_err();
        assert!(error.to_string().contains("power_states_off"), "{error}");
    }
}
