//! Runs the phases of a plan: one worker process per workload; their samples and those of the host go into one recording.

mod error;
mod phase_stop;
mod recorder;
mod round_stop;
mod run;

use std::collections::BTreeSet;
use std::path::PathBuf;

use manometer_measure::Directory;
use manometer_measure::event::RunStatus;

pub use error::RunError;

use crate::definition::Experiment;
use crate::isolate;
use crate::lock::DirectoryLock;
use crate::place::{check_device_directory, check_entries};
use crate::prepare::disk_fit::record_fit;
use crate::prepare::ledger::Ledger;
use crate::prepare::{self, PrepareScope, PreparedRun};
use crate::progress::ProgressUpdate;
use crate::setup::RunSetup;

/// Checks, before anything is written, that a run of `experiment` has a place for its data and that they fit there. Whether
/// they fit an array is checked once it is there.
///
/// # Errors
/// It does not.
pub fn check(experiment: &Experiment, reuse: bool) -> Result<(), RunError> {
    check_device_directory(experiment)?;
    if experiment.array.is_some() { Ok(()) } else { Ok(prepare::check_space(experiment, reuse)?) }
}

/// Prepares and runs `experiment`, whose sweep is resolved, and leaves a recording in the empty folder `out`. The folders
/// whose data belong to this command afterwards are added to `created`, also where the run ends in an error: the run
/// created these data, or used data prepared for it.
///
/// # Errors
/// The run could not be prepared or started, or its recording not written. A failed workload is not an error: the
/// recording has the status [`RunStatus::Failed`] and says why.
pub fn run(
    experiment: &Experiment,
    setup: &RunSetup<'_>,
    out: &Directory,
    created: &mut BTreeSet<PathBuf>,
    watch: &mut dyn FnMut(ProgressUpdate<'_>),
) -> Result<RunStatus, RunError> {
    with_ledger(experiment, |ledger| {
        let outcome = prepare_and_run(experiment, setup, out, ledger, created, watch);
        let restored = prepare::restore_power_states(ledger);
        let status = outcome?;
        restored?;
        Ok(status)
    })
}

fn prepare_and_run(
    experiment: &Experiment,
    setup: &RunSetup<'_>,
    out: &Directory,
    ledger: &mut Ledger,
    created: &mut BTreeSet<PathBuf>,
    watch: &mut dyn FnMut(ProgressUpdate<'_>),
) -> Result<RunStatus, RunError> {
    let mut prepared = prepare::prepare(experiment, setup, ledger, PrepareScope::Run, created, watch)?;
    prepared.findings.extend(prepare::disable_power_states(experiment, ledger)?);
    created.extend(prepared.folders.iter().cloned());
    run::run(experiment, setup, out, &prepared, ledger, created, watch)
}

/// Creates all data that a run of `experiment` starts with and prepares the device, without running it.
///
/// # Errors
/// It could not be prepared.
pub fn prepare(
    experiment: &Experiment,
    setup: &RunSetup<'_>,
    watch: &mut dyn FnMut(ProgressUpdate<'_>),
) -> Result<PreparedRun, RunError> {
    with_ledger(experiment, |ledger| {
        let scope = PrepareScope::AllData;
        Ok(prepare::prepare(experiment, setup, ledger, scope, &mut BTreeSet::new(), watch)?)
    })
}

/// Locks the device directory, removes what killed runs left there, and does `work` with its ledger.
fn with_ledger<T>(
    experiment: &Experiment,
    work: impl FnOnce(&mut Ledger) -> Result<T, RunError>,
) -> Result<T, RunError> {
    check_device_directory(experiment)?;
    let lock = DirectoryLock::take(&experiment.directory)?;
    // Another directory may have its path by now.
    check_entries(experiment, lock.directory())?;
    isolate::clean_up(lock.directory())?;
    let mut ledger = prepare::open_ledger(lock.directory())?;
    record_fit(experiment, &mut ledger)?;
    work(&mut ledger)
}
