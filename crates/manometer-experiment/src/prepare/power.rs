//! The power-state transitions of NVMe disks (APST): off while measuring, restored after.
//!
//! What files said before is in the ledger first: whatever ends the run, the next one restores it.

use std::fs;
use std::path::{Path, PathBuf};

use manometer_measure::host::{LayerKind, chain, device_of};

use super::PrepareError;
use super::ledger::{Entry, Ledger};

/// Below a disk's folder in sysfs: the longest that its controller may take to wake; 0 lets it never doze.
const LATENCY_TOLERANCE: &str = "device/power/pm_qos_latency_tolerance_us";

/// The files that switch the transitions of the disks under `directory`.
pub(super) fn files(directory: &Path) -> Vec<PathBuf> {
    let layers = device_of(directory).map(|device| chain(&device)).unwrap_or_default();
    let disks = layers.into_iter().filter(|layer| layer.kind == LayerKind::Disk);
    disks.map(|layer| layer.device.sysfs.join(LATENCY_TOLERANCE)).filter(|file| file.exists()).collect()
}

/// Switches the transitions off that `files` switch.
///
/// # Errors
/// A file cannot be read or written; then all are as before.
pub(super) fn off(files: &[PathBuf], ledger: &mut Ledger) -> Result<(), PrepareError> {
    let failed = |path: &Path, source| PrepareError::Power { path: path.to_owned(), source };
    let mut before = Vec::new();
    for file in files {
        let text = fs::read_to_string(file).map_err(|source| failed(file, source))?;
        before.push((file.clone(), text.trim().to_owned()));
    }
    if before.is_empty() {
        return Ok(());
    }
    ledger.append(&Ledger::fresh_id("power"), Entry::Power { before, restored: false })?;
    for file in files {
        if let Err(source) = fs::write(file, "0") {
            restore(ledger)?;
            return Err(failed(file, source));
        }
    }
    Ok(())
}

/// Lets every file say again what it said before it was switched.
///
/// # Errors
/// A file that is there cannot be written, or the ledger cannot.
pub(super) fn restore(ledger: &mut Ledger) -> Result<(), PrepareError> {
    let switched: Vec<(String, Vec<(PathBuf, String)>)> =
        ledger.book().not_restored().map(|(id, before)| (id.to_owned(), before.to_vec())).collect();
    for (id, before) in switched {
        // A disk that is gone has nothing to restore.
        for (file, text) in before.iter().filter(|(file, _)| file.exists()) {
            fs::write(file, text).map_err(|source| PrepareError::Power { path: file.clone(), source })?;
        }
        ledger.append(&id, Entry::Power { before, restored: true })?;
    }
    Ok(())
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
    fn one_that_cannot_be_switched_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(dir.path()).unwrap();
        let error = off(&[dir.path().join("nothing")], &mut ledger).unwrap_err();
        assert!(error.to_string().contains("power_states_off"), "{error}");
    }
}
