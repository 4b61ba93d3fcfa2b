//! Settings of the device that a run changes and gives back: its scheduler, and io.cost.
//!
//! What they were is written into the device directory before they change, so that the next run gives them back where
//! this one was killed.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::IsolateError;

/// The file in the device directory that says what is to be given back.
const FILE: &str = ".manometer.borrowed.json";

/// A kernel file, and what it is to hold again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Setting {
    pub file: PathBuf,
    pub was: String,
}

/// The settings that a run has changed. Dropping it gives them back.
#[derive(Debug)]
pub(super) struct Borrowed {
    note: PathBuf,
    settings: Vec<Setting>,
}

impl Borrowed {
    /// Nothing yet, in the device directory `directory`; what a killed run did not give back is given back now.
    pub(super) fn none(directory: &Path) -> Result<Self, IsolateError> {
        let mut borrowed = Self { note: directory.join(FILE), settings: Vec::new() };
        match fs::read_to_string(&borrowed.note) {
            Ok(text) => {
                let sense = |error: serde_json::Error| IsolateError::at(&borrowed.note)(error.into());
                borrowed.settings = serde_json::from_str(&text).map_err(sense)?;
                borrowed.give_back();
                Ok(borrowed)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(borrowed),
            Err(error) => Err(IsolateError::at(&borrowed.note)(error)),
        }
    }

    /// Writes `text` into `file`, to hold `was` again in the end.
    pub(super) fn change(&mut self, file: &Path, text: &str, was: String) -> Result<(), IsolateError> {
        self.settings.push(Setting { file: file.to_owned(), was });
        let note = serde_json::to_vec(&self.settings).map_err(|error| IsolateError::at(&self.note)(error.into()))?;
        fs::write(&self.note, note).map_err(IsolateError::at(&self.note))?;
        fs::write(file, text).map_err(|source| IsolateError::Write {
            path: file.to_owned(),
            text: text.to_owned(),
            source,
        })
    }

    fn give_back(&mut self) {
        for Setting { file, was } in std::mem::take(&mut self.settings).into_iter().rev() {
            // A device that is gone meanwhile takes its settings with it.
            if let Err(error) = fs::write(&file, &was) {
                tracing::warn!("{}: {error}: `{was}` could not be written back", file.display());
            }
        }
        // There is none where nothing was changed.
        let _ = fs::remove_file(&self.note);
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        self.give_back();
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
        let mut borrowed = Borrowed::none(dir.path()).unwrap();
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
        let mut borrowed = Borrowed::none(dir.path()).unwrap();
        borrowed.change(&file, "bfq", "none".to_owned()).unwrap();
        std::mem::forget(borrowed);
        drop(Borrowed::none(dir.path()).unwrap());
        assert_eq!(fs::read_to_string(&file).unwrap(), "none");
        assert!(!dir.path().join(FILE).exists());
    }

    #[test]
    fn a_file_that_refuses_is_named_with_what_was_wanted() {
        let (dir, _) = scene();
        let mut borrowed = Borrowed::none(dir.path()).unwrap();
        let error = borrowed.change(&dir.path().join("a/b"), "bfq", "none".to_owned()).unwrap_err().to_string();
        assert!(error.contains("bfq") && error.contains("a/b"), "{error}");
        fs::write(dir.path().join(FILE), "nonsense").unwrap();
        std::mem::forget(borrowed);
        assert!(Borrowed::none(dir.path()).unwrap_err().to_string().contains(FILE));
    }
}
