//! The recordings of a set's runs, and what may be wrong with them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use manometer_measure::{Event, Recording, RecordingError};
use serde_json::Value;

use super::QueuedRun;
use super::journal::{self, JournalLine, RunState};

/// The folder of the recordings, below the output folder.
pub const RUNS_FOLDER: &str = "runs";

/// The folders of the runs that `queue.jsonl` in `out` counts as done, and that hold no recording; none without a queue.
pub fn missing_recordings(out: &Path) -> Vec<PathBuf> {
    let mut states = BTreeMap::new();
    for line in journal::read(out).lines {
        if let JournalLine::State(change) = line {
            states.insert(change.run, change.state);
        }
    }
    let done = states.into_iter().filter(|(_, state)| *state == RunState::Done);
    let dirs = done.map(|(run, _)| out.join(RUNS_FOLDER).join(run));
    dirs.filter(|dir| !dir.join("plan.json").exists()).collect()
}

/// What is wrong with the `recording` of `run`, which has ended.
pub(super) fn fault_of(run: &QueuedRun, recording: &Result<Recording, RecordingError>) -> Option<String> {
    match recording {
        Ok(recording) if recording.plan.sweep != run.planned.experiment.swept => {
            Some("it is of another run".to_owned())
        }
        Ok(recording) => recording.faults().into_iter().next(),
        Err(RecordingError::Newer { .. }) => None,
        Err(RecordingError::Damaged { fault, .. }) => Some(fault.clone()),
        Err(_) if run.dir.is_symlink() => Some("it is a symbolic link".to_owned()),
        Err(_) => Some("it is missing or cannot be read".to_owned()),
    }
}

/// The folders whose data the run of `recording` created: those of workloads that were ready and did not reuse data.
pub(super) fn created_by_run(recording: &Recording, directory: &Path) -> Vec<PathBuf> {
    let created = |event: &Event| match event {
        Event::Ready { workload, facts } if facts.get("reused") != Some(&Value::Bool(true)) => {
            Some(directory.join(workload))
        }
        _ => None,
    };
    recording.events.iter().filter_map(|line| created(&line.event)).collect()
}
