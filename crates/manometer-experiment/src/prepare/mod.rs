//! Brings the device and the data into a state that can be measured, and writes down how.
//!
//! [`steps`] decides what is to be done from what is there, [`bring`] does it. The ledger ([`ledger`]) holds what was
//! written to the device from a directory, and what is prepared there; [`account`] keeps it while something writes and
//! stops before a write budget is passed. Measuring is left to the conductor.

pub mod account;
pub mod counter;
pub mod erase;
mod error;
pub mod ledger;
mod power;
mod session;
pub mod settle;
pub mod snapshot;
mod space;
mod state;
pub mod steps;
mod work;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use manometer_measure::ByteSize;
use manometer_measure::event::{Finding, Severity};
use serde_json::Value;

use self::account::Budget;
pub use self::error::PrepareError;
use self::ledger::{Book, Entry, Ledger, LedgerError, Prepared};
use self::session::Stage;
use self::settle::Settled;
use self::steps::{Found, Step};
use self::work::Preparation;
use crate::conductor::{Setup, Update};
use crate::file::{Experiment, PrepareTable, Workload};

/// The folder of the file that fills free space; there only while it is filled.
const SCRATCH: &str = ".manometer-scratch";

/// What the preparations of `runs`, all in the directory of `book`, would be one after the other; `whole` as in
/// [`bring`].
pub fn outline<'a>(runs: impl IntoIterator<Item = &'a Experiment>, book: &Book, whole: bool) -> Vec<Step> {
    let mut all = Vec::new();
    let mut found: Option<Found> = None;
    for run in runs {
        let before = found.unwrap_or_else(|| Found::of(run, book));
        let steps = steps::steps(run, &before, whole);
        found = Some(before.after(run, &steps));
        all.extend(steps);
    }
    all
}

/// What a run begins from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Brought {
    /// What was done.
    pub done: Vec<Step>,
    /// The folders whose data are as prepared: the run uses them as they are.
    pub prepared: BTreeSet<PathBuf>,
    /// The folders whose data were made now.
    pub made: BTreeSet<PathBuf>,
    /// What a reader must know.
    pub findings: Vec<Finding>,
    /// The state of the device, as `environment.json` tells it.
    pub state: Value,
}

/// Does what a run of `experiment` needs done before, in a directory that is held; `whole`: makes all its data ahead.
///
/// # Errors
/// What it takes passes the budget or does not fit, a step failed, or somebody ended it.
pub fn bring(
    experiment: &Experiment,
    setup: &Setup<'_>,
    ledger: &mut Ledger,
    whole: bool,
    watch: &mut dyn FnMut(Update<'_>),
) -> Result<Brought, PrepareError> {
    power::restore(ledger)?;
    remove_leftovers(&experiment.directory)?;
    let found = Found::of(experiment, ledger.book());
    let steps = steps::steps(experiment, &found, whole);
    check(experiment, setup, ledger.book(), (&found, &steps), whole)?;
    let stage = Stage { program: &setup.program, interrupted: setup.interrupted, watch };
    let mut preparation = Preparation { experiment, setup, ledger, stage, made: BTreeSet::new(), snapshot: None };
    for step in &steps {
        preparation.perform(step)?;
    }
    let (made, snapshot) = (preparation.made, preparation.snapshot);
    let found = Found::of(experiment, ledger.book());
    let prepared: BTreeSet<PathBuf> = steps::folders(experiment, &found).chain(made.iter().cloned()).collect();
    let settled =
        experiment.primary.as_ref().and_then(|primary| settled(ledger.book(), primary, &prepared, experiment));
    let findings = settled.filter(|settled| !settled.steady).map(not_settled).into_iter().collect();
    forget_others(experiment, ledger, &prepared)?;
    let state = state::state(experiment, ledger.book(), found.space, snapshot.as_deref(), settled);
    Ok(Brought { done: steps, prepared, made, findings, state })
}

/// Forgets how data were prepared that the run is about to make itself, in other ways perhaps.
fn forget_others(
    experiment: &Experiment,
    ledger: &mut Ledger,
    prepared: &BTreeSet<PathBuf>,
) -> Result<(), LedgerError> {
    for workload in experiment.workloads().filter(|one| !prepared.contains(&experiment.directory.join(&one.name))) {
        if let Some(before) = ledger.book().prepared(&workload.name).filter(|before| before.ended).cloned() {
            let forgotten = Prepared { ended: false, ..before };
            ledger.append(&format!("prepared-{}", workload.name), Entry::Prepared(forgotten))?;
        }
    }
    Ok(())
}

/// Switches power-state transitions off where `experiment` asks for it; [`restore_power`] undoes it.
///
/// # Errors
/// They cannot be switched.
pub(crate) fn power_off(experiment: &Experiment, ledger: &mut Ledger) -> Result<Option<Finding>, PrepareError> {
    if !experiment.prepare.power_states_off {
        return Ok(None);
    }
    let files = power::files(&experiment.directory);
    power::off(&files, ledger)?;
    Ok(files.is_empty().then(|| Finding {
        id: "power-states-unknown".to_owned(),
        severity: Severity::Info,
        phase: None,
        text:
            "Power-state transitions were to be off, and no NVMe disk shows under the directory: nothing was switched."
                .to_owned(),
    }))
}

/// Restores what [`power_off`] switched.
///
/// # Errors
/// It cannot be restored.
pub(crate) fn restore_power(ledger: &mut Ledger) -> Result<(), PrepareError> {
    power::restore(ledger)
}

/// Removes what a preparation that was cut left on its way.
fn remove_leftovers(directory: &Path) -> Result<(), PrepareError> {
    snapshot::remove_unfinished(directory)?;
    remove_scratch(directory)
}

fn remove_scratch(directory: &Path) -> Result<(), PrepareError> {
    let path = directory.join(SCRATCH);
    let removed = match emptied(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        // ext4 gives blocks back when its journal is written: what is made next finds them free.
        emptied => emptied
            .and_then(|()| fs::remove_dir_all(&path))
            .and_then(|()| Ok(rustix::fs::syncfs(fs::File::open(directory)?)?)),
    };
    removed.map_err(|source| PrepareError::Leftover { path, source })
}

/// Cuts the files in `folder` to nothing: removed only, they keep their space until the kernel has taken down the ring of
/// whoever wrote them, and that may be after his end.
fn emptied(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::OpenOptions::new().write(true).open(entry.path())?.set_len(0)?;
        }
    }
    Ok(())
}

/// Whether the steps, and what the run's own workers make, fit into the space and the budget.
fn check(
    experiment: &Experiment,
    setup: &Setup<'_>,
    book: &Book,
    (found, steps): (&Found, &[Step]),
    whole: bool,
) -> Result<(), PrepareError> {
    let there = |folder: &PathBuf| setup.reuse || setup.made.contains(folder);
    let own = if whole { 0 } else { steps::left_to_workers(experiment, found, steps, there) };
    if let Some(budget) = Budget::new(experiment.write_budget, book) {
        let wanted = steps.iter().map(Step::bytes).fold(own, u64::saturating_add);
        if wanted > budget.left_bytes() || budget.left_bytes() == 0 {
            let (wanted, left) = (ByteSize(wanted), ByteSize(budget.left_bytes()));
            return Err(PrepareError::OverBudget { wanted, limit: budget.limit, left });
        }
    }
    let asked = whole || experiment.prepare != PrepareTable::default();
    let Some(space) = found.space.filter(|_| asked) else { return Ok(()) };
    space.check(&experiment.directory, new_bytes(experiment, steps), experiment.prepare.over_provisioning)
}

/// What the data take that are not there yet, and the copies of them.
fn new_bytes(experiment: &Experiment, steps: &[Step]) -> u64 {
    let missing = experiment.workloads().filter(|workload| !experiment.directory.join(&workload.name).exists());
    let data = missing.map(|workload| workload.settings.bytes_to_prepare());
    let copies = steps.iter().map(|step| match step {
        Step::Snapshot { bytes, .. } | Step::Restore { bytes, .. } => *bytes,
        Step::Precondition { .. } | Step::Data { .. } => 0,
    });
    data.chain(copies).fold(0, u64::saturating_add)
}

fn settled(book: &Book, primary: &Workload, prepared: &BTreeSet<PathBuf>, experiment: &Experiment) -> Option<Settled> {
    let folder = experiment.directory.join(&primary.name);
    book.prepared(&primary.name).filter(|_| prepared.contains(&folder))?.settled
}

fn not_settled(settled: Settled) -> Finding {
    Finding {
        id: "not-settled".to_owned(),
        severity: Severity::Warning,
        phase: None,
        text: format!(
            "The primary did not become steady within the {:.0} s that `prepare.settle` allows: what is measured may \
             still drift; allow more time.",
            settled.seconds
        ),
    }
}
