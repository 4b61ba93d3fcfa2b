//! Host settings that a run changes and restores: a disk's scheduler, io.cost, the controllers of control groups.
//!
//! The original values are written to a file in the device directory before they change, so that the next run restores
//! them where this one is killed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use manometer_measure::Directory;
use serde::{Deserialize, Serialize};

use super::error::IsolateError;
use crate::boot_id::boot_id;

/// The file in the device directory with the values to be restored.
const RESTORE_FILE: &str = ".manometer.borrowed.json";

/// A changed kernel file and its original value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ChangedSetting {
    file: PathBuf,
    #[serde(rename = "was")]
    original: String,
}

/// The largest restore file that is read.
const MOST_BYTES: u64 = 1 << 20;

/// The content of the restore file.
#[derive(Debug, Serialize, Deserialize)]
struct RestoreFile {
    /// The boot of the host: kernel settings do not outlive it, and disks may have other names afterwards.
    boot: String,
    settings: Vec<ChangedSetting>,
}

/// The host settings that a run has changed. Dropping it restores them.
#[derive(Debug)]
pub(super) struct HostSettings {
    directory: Directory,
    changed: Vec<ChangedSetting>,
}

impl HostSettings {
    /// No changes yet, for a run in the device directory `directory`.
    pub(super) fn unchanged(directory: &Directory) -> Self {
        Self { directory: directory.clone(), changed: Vec::new() }
    }

    fn restore_file(&self) -> PathBuf {
        self.directory.path().join(RESTORE_FILE)
    }

    /// Restores the settings that a killed run has changed.
    pub(super) fn restore_leftovers(directory: &Directory) -> Result<(), IsolateError> {
        let mut left = Self::unchanged(directory);
        let text = match directory.read_all(RESTORE_FILE, MOST_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            text => text.map_err(IsolateError::at(&left.restore_file()))?,
        };
        let content: RestoreFile = serde_json::from_slice(&text)
            .map_err(|source| IsolateError::InvalidRestoreFile { path: left.restore_file(), source })?;
        if content.boot == boot_id().unwrap_or_default() {
            left.changed = content.settings;
        }
        left.restore()
    }

    /// Writes `text` to `file`, whose value is `original`.
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    pub(super) fn change(&mut self, file: &Path, text: &str, original: String) -> Result<(), IsolateError> {
        self.changed.push(ChangedSetting { file: file.to_owned(), original });
        self.write_restore_file()?;
        fs::write(file, text).map_err(|source| IsolateError::Write {
            path: file.to_owned(),
            text: text.to_owned(),
            source,
        })
    }

    /// Replaces the restore file atomically and durably.
    fn write_restore_file(&self) -> Result<(), IsolateError> {
        let content = RestoreFile { boot: boot_id().unwrap_or_default(), settings: self.changed.clone() };
        let text = serde_json::to_vec(&content).map_err(io::Error::from);
        let written = text.and_then(|text| self.directory.replace(RESTORE_FILE, &text));
        written.map_err(IsolateError::at(&self.restore_file()))
    }

    /// Restores all settings. Those that this user may not write stay in the restore file for one who may.
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    fn restore(&mut self) -> Result<(), IsolateError> {
        let mut kept = Vec::new();
        for setting in std::mem::take(&mut self.changed).into_iter().rev() {
            let ChangedSetting { file, original } = &setting;
            if let Err(error) = fs::write(file, original) {
                tracing::warn!("{}: {error}: the value `{original}` could not be restored", file.display());
                // The settings of a removed device, or of one that others use by now, need no restoring.
                if error.kind() == io::ErrorKind::PermissionDenied {
                    kept.insert(0, setting);
                }
            }
        }
        self.changed = kept;
        if !self.changed.is_empty() {
            return self.write_restore_file();
        }
        match self.directory.remove_file(RESTORE_FILE) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(IsolateError::at(&self.restore_file())(error)),
            _ => Ok(()),
        }
    }
}

impl Drop for HostSettings {
    fn drop(&mut self) {
        if let Err(error) = self.restore() {
            tracing::warn!("{error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("scheduler");
        fs::write(&file, "none").unwrap();
        (dir, file)
    }

    #[test]
    fn changed_settings_are_restored_on_drop() {
        let (dir, file) = scene();
        let mut settings = HostSettings::unchanged(&Directory::open(dir.path()).unwrap());
        settings.change(&file, "bfq", "none".to_owned()).unwrap();
        settings.change(&file, "kyber", "bfq".to_owned()).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "kyber");
        drop(settings);
        assert_eq!(fs::read_to_string(&file).unwrap(), "none");
        assert!(!dir.path().join(RESTORE_FILE).exists());
    }

    #[test]
    fn the_next_run_restores_the_settings_of_a_killed_one() {
        let (dir, file) = scene();
        let mut settings = HostSettings::unchanged(&Directory::open(dir.path()).unwrap());
        settings.change(&file, "bfq", "none".to_owned()).unwrap();
        std::mem::forget(settings);
        HostSettings::restore_leftovers(&Directory::open(dir.path()).unwrap()).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "none");
        assert!(!dir.path().join(RESTORE_FILE).exists());
    }

    #[test]
    fn settings_of_an_earlier_boot_are_not_restored() {
        let (dir, file) = scene();
        let mut settings = HostSettings::unchanged(&Directory::open(dir.path()).unwrap());
        settings.change(&file, "bfq", "none".to_owned()).unwrap();
        std::mem::forget(settings);
        let restore_file = dir.path().join(RESTORE_FILE);
        fs::write(&restore_file, fs::read_to_string(&restore_file).unwrap().replace(&boot_id().unwrap(), "another"))
            .unwrap();
        HostSettings::restore_leftovers(&Directory::open(dir.path()).unwrap()).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "bfq");
        assert!(!restore_file.exists());
    }

    #[test]
    fn errors_name_the_file_and_the_value() {
        let (dir, _) = scene();
        let mut settings = HostSettings::unchanged(&Directory::open(dir.path()).unwrap());
        let error = settings.change(&dir.path().join("a/b"), "bfq", "none".to_owned()).unwrap_err().to_string();
        assert!(error.contains("bfq") && error.contains("a/b"), "{error}");
        fs::write(dir.path().join(RESTORE_FILE), "invalid").unwrap();
        std::mem::forget(settings);
        let error = HostSettings::restore_leftovers(&Directory::open(dir.path()).unwrap()).unwrap_err().to_string();
        assert!(error.contains(RESTORE_FILE) && error.contains("remove it"), "{error}");
    }
}
