//! Settings of the host that a run changes and gives back: a disk's scheduler, io.cost, controllers that groups may use.
//!
//! What they were is written into the device directory before they change, so that the next run gives them back where
//! this one was killed.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::IsolateError;
use crate::prepare::counter::boot_id;

/// The file in the device directory that says what is to be given back.
const FILE: &str = ".manometer.borrowed.json";

/// A kernel file, and what it is to be given in the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Setting {
    file: PathBuf,
    was: String,
}

/// What a run writes down before it changes anything.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    /// Settings do not outlive the kernel that holds them, and names of disks may mean others after it.
    boot: String,
    settings: Vec<Setting>,
}

/// The settings that a run has changed. Dropping it gives them back.
#[derive(Debug)]
pub(super) struct Borrowed {
    note: PathBuf,
    settings: Vec<Setting>,
}

impl Borrowed {
    /// Nothing yet, in the device directory `directory`.
    pub(super) fn none(directory: &Path) -> Self {
        Self { note: directory.join(FILE), settings: Vec::new() }
    }

    /// Gives back what a killed run has left changed.
    pub(super) fn give_back_left(directory: &Path) -> Result<(), IsolateError> {
        let mut left = Self::none(directory);
        let text = match fs::read_to_string(&left.note) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            text => text.map_err(IsolateError::at(&left.note))?,
        };
        let note: Note =
            serde_json::from_str(&text).map_err(|source| IsolateError::Note { path: left.note.clone(), source })?;
        if note.boot == boot_id().unwrap_or_default() {
            left.settings = note.settings;
        }
        left.give_back()
    }

    /// Writes `text` into `file`, to be given `was` in the end.
    pub(super) fn change(&mut self, file: &Path, text: &str, was: String) -> Result<(), IsolateError> {
        self.settings.push(Setting { file: file.to_owned(), was });
        self.write_down()?;
        fs::write(file, text).map_err(|source| IsolateError::Write {
            path: file.to_owned(),
            text: text.to_owned(),
            source,
        })
    }

    /// Has the note whole on the disk before anything changes, so that a power cut leaves the one before or this one.
    fn write_down(&self) -> Result<(), IsolateError> {
        let new = self.note.with_extension("new");
        let note = Note { boot: boot_id().unwrap_or_default(), settings: self.settings.clone() };
        let written = serde_json::to_vec(&note).map_err(io::Error::from).and_then(|text| {
            let mut file = File::create(&new)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&new, &self.note)
        });
        written.map_err(IsolateError::at(&self.note))
    }

    /// Gives everything back; what this user may not write stays noted for one who may.
    fn give_back(&mut self) -> Result<(), IsolateError> {
        let mut kept = Vec::new();
        for setting in std::mem::take(&mut self.settings).into_iter().rev() {
            let Setting { file, was } = &setting;
            if let Err(error) = fs::write(file, was) {
                tracing::warn!("{}: {error}: `{was}` could not be written back", file.display());
                // A device that is gone takes its settings with it; what others use meanwhile is theirs.
                if error.kind() == io::ErrorKind::PermissionDenied {
                    kept.insert(0, setting);
                }
            }
        }
        self.settings = kept;
        if !self.settings.is_empty() {
            return self.write_down();
        }
        match fs::remove_file(&self.note) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(IsolateError::at(&self.note)(error)),
            _ => Ok(()),
        }
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if let Err(error) = self.give_back() {
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
    fn what_was_changed_is_given_back() {
        let (dir, file) = scene();
        let mut borrowed = Borrowed::none(dir.path());
        borrowed.change(&file, "bfq", "none".to_owned()).unwrap();
        borrowed.change(&file, "kyber", "bfq".to_owned()).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "kyber");
        drop(borrowed);
        assert_eq!(fs::read_to_string(&file).unwrap(), "none");
        assert!(!dir.path().join(FILE).exists());
    }

    #[test]
    fn what_a_killed_run_changed_the_next_one_gives_back() {
        let (dir, file) = scene();
        let mut borrowed = Borrowed::none(dir.path());
        borrowed.change(&file, "bfq", "none".to_owned()).unwrap();
        std::mem::forget(borrowed);
        Borrowed::give_back_left(dir.path()).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "none");
        assert!(!dir.path().join(FILE).exists());
    }

    #[test]
    fn what_was_changed_before_the_last_boot_is_nobodys() {
        let (dir, file) = scene();
        let mut borrowed = Borrowed::none(dir.path());
        borrowed.change(&file, "bfq", "none".to_owned()).unwrap();
        std::mem::forget(borrowed);
        let note = dir.path().join(FILE);
        fs::write(&note, fs::read_to_string(&note).unwrap().replace(&boot_id().unwrap(), "another")).unwrap();
        Borrowed::give_back_left(dir.path()).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "bfq");
        assert!(!note.exists());
    }

    #[test]
    fn a_file_that_refuses_is_named_with_what_was_wanted() {
        let (dir, _) = scene();
        let mut borrowed = Borrowed::none(dir.path());
        let error = borrowed.change(&dir.path().join("a/b"), "bfq", "none".to_owned()).unwrap_err().to_string();
        assert!(error.contains("bfq") && error.contains("a/b"), "{error}");
        fs::write(dir.path().join(FILE), "nonsense").unwrap();
        std::mem::forget(borrowed);
        let error = Borrowed::give_back_left(dir.path()).unwrap_err().to_string();
        assert!(error.contains(FILE) && error.contains("remove it"), "{error}");
    }
}
