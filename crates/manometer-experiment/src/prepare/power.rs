//! The power-state transitions of NVMe disks (APST): off while measuring, restored after.
//!
//! What files said before is in the ledger first: whatever ends the run, the next one restores it.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use manometer_measure::host::{LayerKind, chain, device_of, nvme_controllers};

use super::PrepareError;
use super::counter::boot_id;
use super::ledger::{Entry, Ledger};

/// Below a controller's folder in sysfs: the longest that it may take to wake; 0 lets it never doze.
const LATENCY_TOLERANCE: &str = "power/pm_qos_latency_tolerance_us";

/// The files that switch the transitions of the disks under `directory`.
pub(super) fn files(directory: &Path) -> Vec<PathBuf> {
    let layers = device_of(directory).map(|device| chain(&device)).unwrap_or_default();
    let disks = layers.into_iter().filter(|layer| layer.kind == LayerKind::Disk);
    disks.flat_map(|layer| files_of(&layer.device.sysfs)).collect()
}

/// Those of the disk whose folder in sysfs is `disk`, one for each of its controllers.
fn files_of(disk: &Path) -> Vec<PathBuf> {
    let controllers = nvme_controllers(disk).into_iter();
    controllers.map(|controller| controller.join(LATENCY_TOLERANCE)).filter(|file| file.exists()).collect()
}

/// Switches the transitions off that `files` switch.
///
/// # Errors
/// A file cannot be read or written; then all are as before.
pub(super) fn off(files: &[PathBuf], ledger: &mut Ledger) -> Result<(), PrepareError> {
    let before = before(files)?;
    if before.is_empty() {
        return Ok(());
    }
    let switched = Entry::Power { before, boot_id: boot_id(), restored: false };
    ledger.append(&Ledger::fresh_id("power"), switched)?;
    for file in files {
        if let Err(source) = fs::write(file, "0") {
            restore(ledger)?;
            return Err(PrepareError::Power { path: file.clone(), source });
        }
    }
    Ok(())
}

/// What each of `files`, which can be written, says.
///
/// # Errors
/// One cannot be read or written.
pub(super) fn before(files: &[PathBuf]) -> Result<Vec<(PathBuf, String)>, PrepareError> {
    let read = |file: &PathBuf| {
        let text = OpenOptions::new().write(true).open(file).and_then(|_| fs::read_to_string(file));
        let text = text.map_err(|source| PrepareError::Power { path: file.clone(), source })?;
        Ok((file.clone(), text.trim().to_owned()))
    };
    files.iter().map(read).collect()
}

/// Lets every file say again what it said before it was switched. A host that was started since did so itself.
///
/// # Errors
/// A file that was switched cannot be written, or the ledger cannot.
pub(super) fn restore(ledger: &mut Ledger) -> Result<(), PrepareError> {
    let switched: Vec<(String, Entry)> =
        ledger.book().not_restored().map(|(id, entry)| (id.to_owned(), entry.clone())).collect();
    for (id, entry) in switched {
        let Entry::Power { before, boot_id: then, .. } = entry else { continue };
        if then.is_none() || then == boot_id() {
            for (file, text) in &before {
                write_back(file, text).map_err(|source| PrepareError::PowerLeft { path: file.clone(), source })?;
            }
        }
        ledger.append(&id, Entry::Power { before, boot_id: then, restored: true })?;
    }
    Ok(())
}

/// Lets `file` say `text` where it does not; a disk that is gone has nothing to say.
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
    fn with_multipath_every_controller_is_switched() {
        let dir = tempfile::tempdir().unwrap();
        let device = dir.path().join("device");
        assert!(files_of(dir.path()).is_empty());
        let own = disk(dir.path(), "device", "5\n");
        assert_eq!(files_of(dir.path()), [own]);
        let both = [disk(&device, "nvme0", "5\n"), disk(&device, "nvme1", "5\n")];
        fs::create_dir_all(device.join("nvme2/power")).unwrap();
        assert_eq!(files_of(dir.path()), both, "one that has no transitions has no file");
    }

    #[test]
    fn transitions_are_off_and_come_back_as_they_were() {
        let dir = tempfile::tempdir().unwrap();
        let files = [disk(dir.path(), "nvme0n1", "100000\n"), disk(dir.path(), "nvme1n1", "auto\n")];
        let mut ledger = Ledger::open(dir.path()).unwrap();
        off(&files, &mut ledger).unwrap();
        assert!(files.iter().all(|file| fs::read_to_string(file).unwrap() == "0"));
        // Cut here: whoever opens the ledger next restores them.
        drop(ledger);
        let mut ledger = Ledger::open(dir.path()).unwrap();
        restore(&mut ledger).unwrap();
        assert_eq!(files.each_ref().map(|file| fs::read_to_string(file).unwrap()), ["100000", "auto"]);
        assert_eq!(ledger.book().not_restored().count(), 0);
    }

    #[test]
    fn a_disk_that_is_gone_or_has_none_is_no_error() {
        let dir = tempfile::tempdir().unwrap();
        let file = disk(dir.path(), "nvme0n1", "0\n");
        let mut ledger = Ledger::open(dir.path()).unwrap();
        off(&[], &mut ledger).unwrap();
        assert_eq!(ledger.book().not_restored().count(), 0);
        off(std::slice::from_ref(&file), &mut ledger).unwrap();
        fs::remove_file(&file).unwrap();
        restore(&mut ledger).unwrap();
        assert_eq!(ledger.book().not_restored().count(), 0);
    }

    #[test]
    fn what_was_never_switched_or_before_the_host_was_started_again_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let as_before = disk(dir.path(), "nvme0n1", "100000\n");
        let mut ledger = Ledger::open(dir.path()).unwrap();
        let noted = |file: &Path, boot_id: Option<String>| {
            let before = vec![(file.to_owned(), "100000".to_owned())];
            Entry::Power { before, boot_id, restored: false }
        };
        ledger.append("cut-before-writing", noted(&as_before, boot_id())).unwrap();
        let started_again = disk(dir.path(), "nvme1n1", "5\n");
        ledger.append("before-the-start", noted(&started_again, Some("another".to_owned()))).unwrap();
        // Nobody can write them: root writes everywhere, but not where there is no file.
        fs::remove_file(&started_again).unwrap();
        fs::create_dir(&started_again).unwrap();
        restore(&mut ledger).unwrap();
        assert_eq!(ledger.book().not_restored().count(), 0);
        assert_eq!(fs::read_to_string(&as_before).unwrap(), "100000\n", "it says what it said");
        ledger.append("switched", noted(&started_again, boot_id())).unwrap();
        let error = restore(&mut ledger).unwrap_err();
        assert!(error.to_string().contains("run once as root"), "{error}");
    }

    #[test]
    fn what_cannot_be_written_is_not_noted() {
        let dir = tempfile::tempdir().unwrap();
        let first = disk(dir.path(), "nvme0n1", "100000\n");
        let second = dir.path().join("nvme1n1");
        fs::create_dir(&second).unwrap();
        let mut ledger = Ledger::open(dir.path()).unwrap();
        off(&[first.clone(), second], &mut ledger).unwrap_err();
        assert_eq!(ledger.book().not_restored().count(), 0);
        assert_eq!(fs::read_to_string(&first).unwrap(), "100000\n");
    }

    #[test]
    fn one_that_cannot_be_switched_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(dir.path()).unwrap();
        let error = off(&[dir.path().join("nothing")], &mut ledger).unwrap_err();
        assert!(error.to_string().contains("power_states_off"), "{error}");
    }
}
