//! The tree of a run, and the settings in force.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use manometer_measure::Directory;

use super::plan::PathsPlan;
use crate::file_threads::FilesError;

/// A tree that exists, with its root open, and the settings in force.
pub(super) struct OpenTree {
    pub(super) root: Directory,
    pub(super) root_path: PathBuf,
    plan: Mutex<PathsPlan>,
    /// Rises with every change of the plan, so that threads need not lock it.
    version: AtomicU64,
}

impl OpenTree {
    /// The tree of `plan` at `root_path`.
    pub(super) fn new(plan: PathsPlan, root_path: PathBuf) -> Result<Self, FilesError> {
        let root = Directory::open(&root_path).map_err(|error| FilesError::of("open", &root_path, error))?;
        Ok(Self { root, root_path, plan: Mutex::new(plan), version: AtomicU64::new(0) })
    }

    /// The version of the settings in force.
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The settings in force, and their version.
    pub(super) fn plan(&self) -> (u64, PathsPlan) {
        let plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        (self.version(), plan.clone())
    }

    /// Puts `changed` into force.
    pub(super) fn change(&self, changed: PathsPlan) {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        *plan = changed;
        self.version.fetch_add(1, Ordering::Release);
    }
}
