//! Brings the device and the data into a steady state before measuring, and records how.
//!
//! [`steps`] decides the steps from the state of the device directory, [`prepare`] performs them. The ledger ([`ledger`])
//! records the bytes written to the device and the data prepared in a directory; [`write_account`] updates it while
//! something writes and enforces the write budget. Measuring is left to the conductor.

mod database_lock;
mod device_state;
pub mod disk_fit;
pub mod erase;
mod error;
mod executor;
mod findings;
pub mod ledger;
mod power_states;
mod requirements;
mod scratch;
mod session;
pub mod settle;
pub mod snapshot;
mod snapshot_error;
mod space;
pub mod steps;
pub mod write_account;
pub mod write_counter;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use manometer_measure::Directory;
use manometer_measure::event::Finding;
use manometer_target::engine::directory::DatabaseManifest;
use manometer_workload::settings::WorkloadSettings;
use serde_json::Value;

use self::database_lock::lock_database;
pub use self::error::PrepareError;
use self::executor::StepExecutor;
use self::ledger::{Ledger, LedgerEntries, LedgerError, PreparedData};
use self::scratch::remove_scratch;
pub use self::snapshot_error::SnapshotError;
use self::steps::changes_requests;
pub use self::steps::{DirectoryState, PrepareScope, PrepareStep};
use crate::definition::{Experiment, Precondition};
use crate::progress::ProgressUpdate;
use crate::setup::RunSetup;

/// The steps of preparing all data of `experiment`, in a directory with the ledger `entries`; `reuse` as in [`RunSetup`].
pub fn preview(experiment: &Experiment, entries: &LedgerEntries, reuse: bool) -> Vec<PrepareStep> {
    let state = DirectoryState::read(experiment, entries, reuse, &BTreeSet::new());
    steps::plan_steps(experiment, &state, PrepareScope::AllData)
}

/// The result of a preparation, from which a run starts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PreparedRun {
    /// The steps that were performed.
    pub steps: Vec<PrepareStep>,
    /// The folders with prepared data, of now or of before. The run uses these data as they are, and they are ours.
    pub folders: BTreeSet<PathBuf>,
    /// Findings about the preparation.
    pub findings: Vec<Finding>,
    /// The state of the device, as in `environment.json`.
    pub device_state: Value,
}

/// Prepares a run of `experiment` in a directory whose lock is held. The folders whose data are created are added to
/// `created`, also where a later step fails.
///
/// # Errors
/// The data exceed the budget or the space, a step failed, or the user interrupted it.
pub fn prepare(
    experiment: &Experiment,
    setup: &RunSetup<'_>,
    ledger: &mut Ledger,
    scope: PrepareScope,
    created: &mut BTreeSet<PathBuf>,
    watch: &mut dyn FnMut(ProgressUpdate<'_>),
) -> Result<PreparedRun, PrepareError> {
    power_states::restore(ledger)?;
    wait_for_workers(experiment, setup, ledger.directory())?;
    let state = DirectoryState::read(experiment, ledger.entries(), setup.reuse, setup.created);
    let steps = steps::plan_steps(experiment, &state, scope);
    requirements::check_before(experiment, ledger.entries(), (&state, &steps), scope)?;
    let mut findings = findings::before_preparation(experiment, &state);
    let mut executor = StepExecutor::new(experiment, setup, ledger, watch);
    let outcome = steps.iter().try_for_each(|step| {
        executor.perform(step)?;
        requirements::check_after_step(experiment)
    });
    let (created_now, snapshot, copies) = executor.finish();
    created.extend(created_now.iter().cloned());
    outcome?;
    let ours: BTreeSet<PathBuf> = setup.created.union(&created_now).cloned().collect();
    let state = DirectoryState::read(experiment, ledger.entries(), setup.reuse, &ours);
    let folders: BTreeSet<PathBuf> = steps::prepared_folders(experiment, &state).chain(created_now).collect();
    let settled = settled_primary(experiment, ledger.entries(), &folders).cloned();
    findings.extend(settled.as_ref().and_then(findings::not_settled));
    let filled = ledger.entries().precondition().filter(|_| experiment.prepare.precondition != Precondition::None);
    // The file is written twice.
    let filled = filled.zip(state.space).map(|((_, bytes, _), space)| (bytes / 2, space));
    findings.extend(filled.and_then(|(bytes, space)| findings::partly_preconditioned(bytes, space)));
    let device_state = device_state::device_state(
        experiment,
        ledger.entries(),
        state.space,
        snapshot.as_deref(),
        settled.as_ref(),
        copies,
    );
    if scope == PrepareScope::Run {
        invalidate_changing_data(experiment, ledger, &folders)?;
    }
    Ok(PreparedRun { steps, folders, findings, device_state })
}

/// Checks that the data that workers of a run of `experiment` create fit into the free space.
///
/// # Errors
/// They do not, or the ledger cannot be read.
pub(crate) fn check_space(experiment: &Experiment, reuse: bool) -> Result<(), PrepareError> {
    let (ledger, created) = (LedgerEntries::read(&experiment.directory)?, BTreeSet::new());
    let state = DirectoryState::read(experiment, &ledger, reuse, &created);
    let steps = steps::plan_steps(experiment, &state, PrepareScope::Run);
    requirements::check_space(experiment, &state, &steps)
}

/// Removes the leftovers of killed preparations and opens the ledger of `directory`, whose lock is held.
///
/// # Errors
/// A leftover cannot be removed, or the ledger not be read or written.
pub(crate) fn open_ledger(directory: &Directory) -> Result<Ledger, PrepareError> {
    // First: leftovers may fill the disk, which leaves no room for the ledger.
    snapshot::remove_incomplete(directory)?;
    remove_scratch(directory)?;
    let mut ledger = Ledger::open(directory)?;
    write_account::account_for_killed_runs(&mut ledger)?;
    Ok(ledger)
}

/// Waits until workers of killed runs have released their databases.
fn wait_for_workers(experiment: &Experiment, setup: &RunSetup<'_>, directory: &Directory) -> Result<(), PrepareError> {
    let mut check_stop = || match setup.interrupted.load(Ordering::Relaxed) {
        true => Err(PrepareError::Interrupted),
        false => Ok(()),
    };
    let is_database =
        |name: &&String| directory.directory(name).is_ok_and(|folder| DatabaseManifest::read_in(&folder).is_some());
    let mut databases = experiment.workloads().map(|workload| &workload.name).filter(is_database);
    databases.try_for_each(|name| lock_database(directory, name, &mut check_stop).map(drop))
}

/// Records in the ledger which prepared data the run is about to change: files that it creates again, and databases that
/// have settled under other requests than the run sends. A database that is created again has a new marker anyway.
fn invalidate_changing_data(
    experiment: &Experiment,
    ledger: &mut Ledger,
    folders: &BTreeSet<PathBuf>,
) -> Result<(), LedgerError> {
    for workload in experiment.workloads() {
        let before = ledger.entries().prepared(&workload.name);
        let Some(before) = before.filter(|before| before.ended).cloned() else { continue };
        let is_used = folders.contains(&experiment.folder(&workload.name));
        if !is_used && matches!(workload.settings, WorkloadSettings::Io(_)) {
            ledger.append_prepared(PreparedData { ended: false, ..before })?;
        } else if is_used && before.settled.is_some() && changes_requests(experiment, workload, &before) {
            ledger.append_prepared(PreparedData { settled: None, ..before })?;
        }
    }
    Ok(())
}

/// Checks that power-state transitions can be disabled, where `experiment` requires it.
///
/// # Errors
/// Those of a disk cannot.
pub fn check_power_states(experiment: &Experiment) -> Result<(), PrepareError> {
    if !experiment.prepare.power_states_off {
        return Ok(());
    }
    power_states::read_writable(&power_states::latency_files(&experiment.directory)).map(drop)
}

/// Disables power-state transitions where `experiment` requires it; [`restore_power_states`] restores them.
///
/// # Errors
/// They cannot be disabled.
pub(crate) fn disable_power_states(
    experiment: &Experiment,
    ledger: &mut Ledger,
) -> Result<Option<Finding>, PrepareError> {
    if !experiment.prepare.power_states_off {
        return Ok(None);
    }
    let files = power_states::latency_files(&experiment.directory);
    power_states::disable(&files, ledger)?;
    Ok(files.is_empty().then(findings::power_states_unknown))
}

/// Restores what [`disable_power_states`] changed.
///
/// # Errors
/// It cannot be restored.
pub(crate) fn restore_power_states(ledger: &mut Ledger) -> Result<(), PrepareError> {
    power_states::restore(ledger)
}

/// The settled data from which the primary of `experiment` starts.
fn settled_primary<'a>(
    experiment: &Experiment,
    entries: &'a LedgerEntries,
    folders: &BTreeSet<PathBuf>,
) -> Option<&'a PreparedData> {
    let primary = experiment.primary.as_ref()?;
    let is_used = folders.contains(&experiment.folder(&primary.name));
    entries.prepared(&primary.name).filter(|one| is_used && one.settled.is_some())
}
