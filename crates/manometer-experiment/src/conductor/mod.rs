//! Runs the phases of a plan: one worker process per workload, everything they tell and everything the
//! host shows into one recording.

mod lock;
mod narrow;
pub(crate) mod process;
mod run;
mod scribe;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use manometer_measure::RecordingError;
use manometer_measure::event::{Finding, Status};
use manometer_measure::recording::check_room;
use manometer_workload::protocol::Existing;
use serde::Serialize;

pub use lock::{DirectoryLock, DiskLocks, LockError};
pub(crate) use narrow::most_s;
pub(crate) use run::seed_of;

use crate::file::Experiment;
use crate::fit;
use crate::isolate::{self, IsolateError};
use crate::prepare::ledger::{Ledger, LedgerError};
use crate::prepare::{self, Brought, PrepareError};

/// What a run needs beside its experiment.
pub struct Setup<'a> {
    /// The program whose verb `worker` runs a workload: this one.
    pub program: PathBuf,
    /// The folder of the recording; made, or empty.
    pub out: PathBuf,
    /// Whether databases and files that another experiment of ours left may be used where they serve.
    pub reuse: bool,
    /// The folders whose data an earlier run of this command made: they may be made anew.
    pub made: &'a BTreeSet<PathBuf>,
    /// Set from outside to end the run early.
    pub interrupted: &'a AtomicBool,
}

/// What a worker may do with data of ours that lie in its folder: `reuse` what serves, or, where they are `ours` (made or
/// prepared for this command), use what is equal and make any other anew.
pub(crate) fn existing(reuse: bool, ours: bool) -> Existing {
    match (reuse, ours) {
        (true, _) => Existing::Reuse,
        (false, true) => Existing::Renew,
        (false, false) => Existing::Remake,
    }
}

/// What goes on in a run, for whoever watches.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Update<'a> {
    /// A worker prepares its database or files.
    Preparing {
        /// The workload.
        workload: &'a str,
        /// What is being done.
        what: &'a str,
        /// How much is done.
        done: u64,
        /// Of how much.
        total: u64,
    },
    /// A workload is prepared.
    Ready {
        /// The workload.
        workload: &'a str,
    },
    /// A phase begins, its settling included.
    Phase {
        /// Its id.
        id: &'a str,
        /// What is special about it.
        label: &'a str,
        /// Its length in seconds, settling included.
        seconds: f64,
    },
    /// A workload's last interval.
    Rate {
        /// The workload.
        workload: &'a str,
        /// Its performance in its own unit.
        rate: f64,
        /// The unit.
        unit: &'a str,
        /// The 99th percentile of its latencies in the interval, over all operations, in microseconds.
        p99_us: Option<f64>,
    },
    /// One sample interval has passed.
    Beat {
        /// Seconds left in the phase.
        phase_left_s: f64,
        /// Seconds left in the run.
        run_left_s: f64,
    },
    /// Something that a reader must know.
    Finding(&'a Finding),
    /// A workload came to an end of its own before the plan did.
    Ended {
        /// The workload.
        workload: &'a str,
        /// Why.
        text: &'a str,
    },
    /// A workload failed.
    Failed {
        /// The workload.
        workload: &'a str,
        /// What was wrong.
        text: &'a str,
    },
}

/// A run that could not be begun, or not recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Another run holds the device directory.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// A workload cannot be isolated, or the device not set, as the experiment says.
    #[error(transparent)]
    Isolation(#[from] IsolateError),
    /// A worker could not be started.
    #[error("the worker for `{workload}` did not start: {reason}")]
    Worker {
        /// The workload.
        workload: String,
        /// Why.
        reason: String,
    },
    /// The recording cannot be written.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The device and the data could not be brought into a state that can be measured.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
}

impl RunError {
    /// Whether somebody stopped it, rather than anything being wrong.
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Self::Prepare(PrepareError::Interrupted))
    }
}

impl From<LedgerError> for RunError {
    fn from(error: LedgerError) -> Self {
        Self::Prepare(error.into())
    }
}

/// Prepares what `experiment` (whose sweep is already resolved) needs, runs it, and leaves a recording in `setup.out`.
/// To `made` are added the folders whose data are this command's, also where the run ends in an error: it made them, or
/// used what was prepared for it.
///
/// # Errors
/// The run could not be prepared or begun, or its recording not written. A run whose workload failed is no error
/// here: its recording says so, and its status is [`Status::Failed`].
pub fn run(
    experiment: &Experiment,
    setup: &Setup<'_>,
    made: &mut BTreeSet<PathBuf>,
    watch: &mut dyn FnMut(Update<'_>),
) -> Result<Status, RunError> {
    // Preparing may take hours: what makes the run impossible is told before.
    check_room(&setup.out)?;
    let lock = DirectoryLock::take(&experiment.directory)?;
    isolate::clean_up(&experiment.directory)?;
    let mut ledger = prepare::open(&experiment.directory)?;
    fit::remember(experiment, &mut ledger)?;
    let outcome = prepared_run(experiment, setup, &mut ledger, made, watch);
    let restored = prepare::restore_power(&mut ledger);
    drop(lock);
    let status = outcome?;
    restored?;
    Ok(status)
}

fn prepared_run(
    experiment: &Experiment,
    setup: &Setup<'_>,
    ledger: &mut Ledger,
    made: &mut BTreeSet<PathBuf>,
    watch: &mut dyn FnMut(Update<'_>),
) -> Result<Status, RunError> {
    let mut brought = prepare::bring(experiment, setup, ledger, false, made, watch)?;
    brought.findings.extend(prepare::power_off(experiment, ledger)?);
    made.extend(brought.prepared.iter().cloned());
    run::run(experiment, setup, &brought, ledger, made, watch)
}

/// Makes all data that a run of `experiment` begins with, and prepares the device; runs nothing. Of `setup` its
/// folder for the recording is not used.
///
/// # Errors
/// It could not be prepared.
pub fn prepare(
    experiment: &Experiment,
    setup: &Setup<'_>,
    watch: &mut dyn FnMut(Update<'_>),
) -> Result<Brought, RunError> {
    let lock = DirectoryLock::take(&experiment.directory)?;
    isolate::clean_up(&experiment.directory)?;
    let mut ledger = prepare::open(&experiment.directory)?;
    fit::remember(experiment, &mut ledger)?;
    let brought = prepare::bring(experiment, setup, &mut ledger, true, &mut BTreeSet::new(), watch)?;
    drop(lock);
    Ok(brought)
}

/// Whether `out` would lie on the device that `directory` lies on: then recording adds to the load.
fn same_device(out: &Path, directory: &Path) -> bool {
    let device = manometer_measure::host::device_of;
    matches!((device(out), device(directory)), (Some(one), Some(other)) if one.disk_sysfs() == other.disk_sysfs())
}
