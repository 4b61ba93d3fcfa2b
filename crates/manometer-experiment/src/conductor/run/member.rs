//! A workload of the run: what is known of it and of its worker.

use std::path::PathBuf;

use manometer_measure::plan::{Settings, Workload as Part};

/// A workload of the run; its worker has the same number in the controller.
pub(super) struct Member {
    /// Where its data lies; nothing for an engine that keeps none.
    pub(super) folder: Option<PathBuf>,
    pub(super) part: Part,
    /// What it said when it was ready; nothing before.
    pub(super) facts: Option<Settings>,
    /// Why it is no more.
    pub(super) gone: Option<String>,
    /// That its trace came to its end, and so it did; nothing where it did not, or has none.
    pub(super) ended: Option<String>,
    /// Whether its worker ended as it should, of itself.
    pub(super) has_left: bool,
    pub(super) running: bool,
    /// Whether its data were prepared before the run.
    pub(super) prepared: bool,
    /// Its settings that some phase changes, as they are in force.
    pub(super) settings: Settings,
    /// Whether it owes the answer to a `set`.
    pub(super) pending: bool,
}

impl Member {
    /// Whether its worker does as it is told.
    pub(super) fn is_there(&self) -> bool {
        self.gone.is_none() && !self.has_left
    }

    /// Its worker ended as it should, of itself: it answers nothing any more.
    pub(super) fn leave(&mut self) {
        self.has_left = true;
        self.running = false;
        self.pending = false;
    }

    /// Whether what lies in its folder was made in this run, to the end.
    pub(super) fn made_its_data(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.get("reused") != Some(&serde_json::Value::Bool(true)))
    }
}
