//! The record of an array: what stands, and how each step is undone.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use manometer_measure::{Directory, FileLock};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::built_array::BuiltArray;
use super::counters::ArrayCounters;
use super::undo::Undo;
use crate::LabError;

/// Where arrays are recorded. A reboot forgets them, as the kernel does.
pub const STATE_DIRECTORY: &str = "/run/manometer/arrays";

#[derive(Debug, Default, Serialize, Deserialize)]
struct Content {
    array: BuiltArray,
    /// When it was complete.
    counters: ArrayCounters,
    undo: Vec<Undo>,
}

/// Refuses a name that another array has.
pub(super) fn check_name(name: &str) -> Result<(), LabError> {
    if names().iter().any(|known| known == name) { Err(taken(name)) } else { Ok(()) }
}

fn taken(name: &str) -> LabError {
    LabError::Refused(format!("there is an array `{name}`: take another `--name`, or `manometer array destroy {name}`"))
}

/// The record of one array.
pub(super) struct ArrayJournal {
    directory: Directory,
    file: String,
    content: Content,
    interrupted: Arc<AtomicBool>,
}

impl ArrayJournal {
    /// Begins a record.
    pub fn begin(array: BuiltArray, interrupted: &Arc<AtomicBool>) -> Result<Self, LabError> {
        let name = &array.name;
        let directory = Directory::create(Path::new(STATE_DIRECTORY)).map_err(LabError::at(STATE_DIRECTORY))?;
        let file = file_name(name);
        if directory.holds(&file) {
            return Err(taken(name));
        }
        let content = Content { array, ..Content::default() };
        let mut journal = Self { directory, file, content, interrupted: Arc::clone(interrupted) };
        journal.save()?;
        Ok(journal)
    }

    /// Reads a record.
    pub fn read(name: &str) -> Result<Self, LabError> {
        let none = || {
            let known = names();
            let known = if known.is_empty() { "none".to_owned() } else { format!("`{}`", known.join("`, `")) };
            LabError::Refused(format!("there is no array `{}`: there are {known}", name.escape_default()))
        };
        if !names().iter().any(|known| known == name) {
            return Err(none());
        }
        let directory = Directory::open(Path::new(STATE_DIRECTORY)).map_err(LabError::at(STATE_DIRECTORY))?;
        let file = file_name(name);
        let path = Path::new(STATE_DIRECTORY).join(&file);
        let bytes = directory.read_all(&file, 1 << 20).map_err(LabError::at(&path))?;
        let damaged = |error| {
            let text = format!("the record is damaged ({error}): remove it once nothing of the array is left");
            LabError::at(&path)(std::io::Error::other(text))
        };
        let content = serde_json::from_slice(&bytes).map_err(damaged)?;
        Ok(Self { directory, file, content, interrupted: Arc::default() })
    }

    /// The array as far as it stands.
    pub fn array(&self) -> &BuiltArray {
        &self.content.array
    }

    /// The array, to be changed; the next step records it.
    pub fn array_mut(&mut self) -> &mut BuiltArray {
        &mut self.content.array
    }

    /// Records how the step that was just done, or is about to be, is undone.
    pub fn record(&mut self, undo: Undo) -> Result<(), LabError> {
        self.content.undo.push(undo);
        self.save()?;
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(LabError::Kernel("interrupted; what was built is taken apart again".to_owned()));
        }
        Ok(())
    }

    /// Records that all of it stands, and its counters.
    pub fn complete(&mut self, counters: ArrayCounters) -> Result<(), LabError> {
        self.content.counters = counters;
        self.save()
    }

    /// The counters when all of it stood.
    pub fn counters_at_start(&self) -> &ArrayCounters {
        &self.content.counters
    }

    /// Writes the record.
    fn save(&mut self) -> Result<(), LabError> {
        let path = self.path();
        let text = serde_json::to_vec_pretty(&self.content).map_err(|error| LabError::Kernel(error.to_string()))?;
        self.directory.replace(&self.file, &text).map_err(LabError::at(path))
    }

    /// Undoes every step, from the last to the first, and forgets the array.
    pub fn undo(mut self) -> Result<(), LabError> {
        self.undo_steps().map_err(|(_, error)| error)
    }

    /// Undoes every step after `error`, which it returns.
    pub fn undo_after(mut self, error: LabError) -> LabError {
        let name = self.content.array.name.clone();
        match self.undo_steps() {
            Ok(()) => error,
            Err((undo, reason)) => {
                LabError::LeftInPart { name, error: error.to_string(), undo, reason: reason.to_string() }
            }
        }
    }

    fn undo_steps(&mut self) -> Result<(), (String, LabError)> {
        while let Some(step) = self.content.undo.last() {
            step.perform().map_err(|error| (step.words(), error))?;
            self.content.undo.pop();
            self.save().map_err(|error| ("save".to_owned(), error))?;
        }
        self.directory.remove_file(&self.file).map_err(|error| ("rm".to_owned(), LabError::at(self.path())(error)))
    }

    fn path(&self) -> PathBuf {
        Path::new(STATE_DIRECTORY).join(&self.file)
    }
}

/// Locks the name of an array until this is dropped or the process ends.
///
/// # Errors
/// Another process has it.
pub fn lock(name: &str) -> Result<FileLock, LabError> {
    let directory = Directory::create(Path::new(STATE_DIRECTORY)).map_err(LabError::at(STATE_DIRECTORY))?;
    let file = format!("{name}.lock");
    let opened = directory.open_file(&file, OFlags::RDWR | OFlags::CREATE);
    match opened.and_then(FileLock::take).map_err(LabError::at(Path::new(STATE_DIRECTORY).join(&file)))? {
        Some(lock) => Ok(lock),
        None => Err(LabError::Refused(format!("the array `{name}` is that of a run that has not ended"))),
    }
}

fn file_name(name: &str) -> String {
    format!("{name}.json")
}

/// The names of the recorded arrays, in order.
pub fn names() -> Vec<String> {
    let Ok(entries) = fs::read_dir(STATE_DIRECTORY) else { return Vec::new() };
    let name = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_suffix(".json").map(str::to_owned);
    let mut names: Vec<String> = entries.filter_map(Result::ok).filter_map(name).collect();
    names.sort();
    names
}
