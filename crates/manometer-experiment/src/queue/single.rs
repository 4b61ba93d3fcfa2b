//! One experiment whose folder is the recording itself: there is no queue, the recording says how far it came.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use manometer_measure::event::Status;
use manometer_measure::{Recording, RecordingError};

use super::QueueError;
use crate::file::Experiment;

/// What lay where a run is to be taken up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// Nothing.
    Nothing,
    /// Its whole recording: there is nothing to do.
    Whole,
    /// A recording that was cut off; it lies elsewhere now, and does not count.
    SetAside(PathBuf),
}

/// Makes room in `out` for `experiment`, unless what lies there is its whole recording.
///
/// # Errors
/// What lies there is no recording, or another experiment's, or cannot be moved.
pub fn take_up(out: &Path, experiment: &Experiment) -> Result<Left, QueueError> {
    let empty = || fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_none());
    if !out.exists() || empty() {
        return Ok(Left::Nothing);
    }
    let recording = Recording::open(out).map_err(|error| match error {
        RecordingError::Io { path, source } => QueueError::Io { path, source },
        other => QueueError::Io { path: out.to_owned(), source: io::Error::other(other.to_string()) },
    })?;
    let there = fs::read_to_string(out.join("experiment.toml")).map_err(QueueError::io(out))?;
    // How far an experiment shrinks depends on what is free at the moment.
    if there != experiment.to_toml() && experiment.shrunk.is_none() {
        let differences = vec!["its experiment.toml is not what is asked for".to_owned()];
        return Err(QueueError::Another { out: out.to_owned(), differences });
    }
    if recording.status() == Some(Status::Complete) {
        return Ok(Left::Whole);
    }
    let aside = (1_u32..).map(|number| beside(out, number)).find(|path| !path.exists());
    let aside = aside.unwrap_or_else(|| beside(out, u32::MAX));
    fs::rename(out, &aside).map_err(QueueError::io(out))?;
    Ok(Left::SetAside(aside))
}

/// `DIR.interrupted-1`.
fn beside(out: &Path, number: u32) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(format!(".interrupted-{number}"));
    out.with_file_name(name)
}
