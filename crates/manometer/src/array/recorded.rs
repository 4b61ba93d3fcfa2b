//! What a recording says of the array of its run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use manometer_experiment::queue::RUNS_FOLDER;
use manometer_lab::array::{ArrayCounters, BuiltArray};
use manometer_measure::Directory;
use serde::{Deserialize, Serialize};

use super::counters_text;

/// The file of a recording.
const FILE: &str = "array.json";

/// What the array of a run counted, from when it was complete to the end of the run.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecordedCounters {
    /// The array.
    pub array: BuiltArray,
    /// Its counters.
    pub counters: ArrayCounters,
}

impl RecordedCounters {
    /// Those of the recording in `directory`, or of the recordings of the sweep there, by the recording's directory.
    pub fn read_all(directory: &Path) -> Vec<(PathBuf, Self)> {
        let runs = fs::read_dir(directory.join(RUNS_FOLDER)).into_iter().flatten();
        let runs = runs.filter_map(|entry| Some(entry.ok()?.path()));
        let all = std::iter::once(directory.to_owned()).chain(runs);
        let mut read: Vec<_> = all.filter_map(|directory| Some((directory.clone(), Self::read(&directory)?))).collect();
        read.sort_by(|one, other| one.0.cmp(&other.0));
        read
    }

    fn read(directory: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(directory.join(FILE)).ok()?).ok()
    }

    /// Writes them into a recording.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, recording: &Directory) -> io::Result<()> {
        recording.replace(FILE, &serde_json::to_vec(self)?)
    }

    /// The table of the counts.
    pub fn text(&self) -> String {
        counters_text(&self.counters, self.array.cache)
    }
}
