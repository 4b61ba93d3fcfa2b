//! A workload of the run, with the state of its worker.

use std::path::PathBuf;

use manometer_measure::plan::{PlannedWorkload, Settings};

/// A workload of the run; its worker has the same number in the controller.
pub(super) struct Member {
    /// The folder of its data; none for an engine without storage.
    pub(super) folder: Option<PathBuf>,
    pub(super) part: PlannedWorkload,
    /// The facts of its `ready` message; none before.
    pub(super) facts: Option<Settings>,
    /// Why it failed.
    pub(super) failure: Option<String>,
    /// Why it ended by itself: the end of its trace.
    pub(super) ended: Option<String>,
    /// Whether its worker ended by itself without an error.
    pub(super) has_ended: bool,
    pub(super) running: bool,
    /// Whether its data was prepared before the run.
    pub(super) prepared: bool,
    /// The current values of the settings that phases change.
    pub(super) settings: Settings,
    /// Whether it has not yet confirmed a `set`.
    pub(super) pending: bool,
    /// When its worker sent its last message, or could last be expected to be silent, by [`Run::listened`](super::Run::listened).
    pub(super) heard_ns: u64,
}

impl Member {
    /// A workload whose worker has just started.
    pub(super) fn new(part: PlannedWorkload, folder: Option<PathBuf>, prepared: bool) -> Self {
        Self {
            folder,
            part,
            facts: None,
            failure: None,
            ended: None,
            has_ended: false,
            running: false,
            prepared,
            settings: Settings::new(),
            pending: false,
            heard_ns: 0,
        }
    }

    /// Whether its worker follows control lines.
    pub(super) fn is_active(&self) -> bool {
        self.failure.is_none() && !self.has_ended
    }

    /// Records that its worker ended by itself without an error.
    pub(super) fn leave(&mut self) {
        self.has_ended = true;
        self.running = false;
        self.pending = false;
    }

    /// Whether this run created the data in its folder completely.
    pub(super) fn created_data(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.get("reused") != Some(&serde_json::Value::Bool(true)))
    }
}
