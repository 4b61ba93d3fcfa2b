//! Brings the device and the data into a state that can be measured, and writes down how.
//!
//! [`steps`] decides what is to be done from what is there, [`bring`] does it. The ledger ([`ledger`]) holds what was
//! written to the device from a directory, and what is prepared there; [`account`] keeps it while something writes and
//! stops before a write budget is passed. Measuring is left to the conductor.

pub mod account;
pub mod counter;
pub mod erase;
mod error;
mod findings;
mod hold;
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
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use manometer_measure::ByteSize;
use manometer_measure::event::Finding;
use manometer_target::engine::directory::Marker;
use manometer_workload::kv::KvPlan;
use manometer_workload::settings::WorkloadSettings;
use serde_json::Value;

use self::account::Budget;
pub use self::error::PrepareError;
use self::hold::hold;
use self::ledger::{Book, Ledger, LedgerError, Prepared};
use self::session::Stage;
use self::space::Space;
pub(crate) use self::space::allocated_bytes;
use self::steps::{Found, Step};
use self::work::Preparation;
use crate::conductor::{Setup, Update};
use crate::file::{Experiment, Precondition, PrepareTable, Workload};
use crate::plan::plan;

/// The folder of the file that fills free space; there only while it is filled.
const SCRATCH: &str = ".manometer-scratch";

/// What preparing all data of `experiment` would be, in the directory of `book`; `reuse` as in [`Setup`].
pub fn outline(experiment: &Experiment, book: &Book, reuse: bool) -> Vec<Step> {
    steps::steps(experiment, &Found::of(experiment, book, reuse, &BTreeSet::new()), true)
}

/// What a run begins from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Brought {
    /// What was done.
    pub done: Vec<Step>,
    /// The folders whose data are as prepared, now or before: the run uses them as they are, and they are ours.
    pub prepared: BTreeSet<PathBuf>,
    /// What a reader must know.
    pub findings: Vec<Finding>,
    /// The state of the device, as `environment.json` tells it.
    pub state: Value,
}

/// Does what a run of `experiment` needs done before, in a directory that is held; `whole`: makes all its data ahead.
/// To `made_now` are added the folders whose data were made now, also where a later step failed.
///
/// # Errors
/// What it takes passes the budget or does not fit, a step failed, or somebody ended it.
pub fn bring(
    experiment: &Experiment,
    setup: &Setup<'_>,
    ledger: &mut Ledger,
    whole: bool,
    made_now: &mut BTreeSet<PathBuf>,
    watch: &mut dyn FnMut(Update<'_>),
) -> Result<Brought, PrepareError> {
    power::restore(ledger)?;
    wait_for_workers(experiment, setup)?;
    let found = Found::of(experiment, ledger.book(), setup.reuse, setup.made);
    let steps = steps::steps(experiment, &found, whole);
    check(experiment, ledger.book(), (&found, &steps), whole)?;
    let mut findings = findings::before(experiment, &found);
    let stage = Stage { program: &setup.program, interrupted: setup.interrupted, watch };
    let mut preparation =
        Preparation { experiment, setup, ledger, stage, made: BTreeSet::new(), snapshot: None, copies: None };
    let outcome = steps.iter().try_for_each(|step| {
        preparation.perform(step)?;
        check_space(experiment)
    });
    let (made, snapshot, copies) = (preparation.made, preparation.snapshot, preparation.copies);
    made_now.extend(made.iter().cloned());
    outcome?;
    let ours: BTreeSet<PathBuf> = setup.made.union(&made).cloned().collect();
    let found = Found::of(experiment, ledger.book(), setup.reuse, &ours);
    let prepared: BTreeSet<PathBuf> = steps::folders(experiment, &found).chain(made).collect();
    let settled = settled(experiment, ledger.book(), &prepared).cloned();
    findings.extend(settled.as_ref().and_then(findings::not_settled));
    let filled = ledger.book().precondition().filter(|_| experiment.prepare.precondition != Precondition::None);
    // Everything is written twice.
    findings.extend(filled.zip(found.space).and_then(|((_, bytes, _), space)| findings::sliver(bytes / 2, space)));
    let state = state::state(experiment, ledger.book(), found.space, snapshot.as_deref(), settled.as_ref(), copies);
    if !whole {
        forget_what_will_change(experiment, ledger, &prepared)?;
    }
    Ok(Brought { done: steps, prepared, findings, state })
}

/// Removes what a preparation that was cut left on its way, and opens the ledger of `directory`, which is held.
///
/// # Errors
/// Something cannot be removed, or the ledger not be read or written.
pub(crate) fn open(directory: &Path) -> Result<Ledger, PrepareError> {
    // First: where it fills the disk, there is no room for a line.
    snapshot::remove_unfinished(directory)?;
    remove_scratch(directory)?;
    let mut ledger = Ledger::open(directory)?;
    account::book_after_cut(&mut ledger, directory)?;
    Ok(ledger)
}

/// Waits until no worker of a run that was cut is at a database any more.
fn wait_for_workers(experiment: &Experiment, setup: &Setup<'_>) -> Result<(), PrepareError> {
    let mut look = || if setup.interrupted.load(Ordering::Relaxed) { Err(PrepareError::Interrupted) } else { Ok(()) };
    let folders = experiment.workloads().map(|workload| experiment.directory.join(&workload.name));
    folders.filter(|folder| Marker::of(folder).is_some()).try_for_each(|folder| hold(&folder, &mut look).map(drop))
}

/// Forgets what the run itself is about to change: how files were prepared that it makes anew, and that a database has
/// settled under other requests than it will send. A database that is made anew says so itself.
fn forget_what_will_change(
    experiment: &Experiment,
    ledger: &mut Ledger,
    prepared: &BTreeSet<PathBuf>,
) -> Result<(), LedgerError> {
    for workload in experiment.workloads() {
        let Some(before) = ledger.book().prepared(&workload.name).filter(|before| before.ended).cloned() else {
            continue;
        };
        let kept = prepared.contains(&experiment.directory.join(&workload.name));
        if !kept && matches!(workload.settings, WorkloadSettings::Io(_)) {
            ledger.append_prepared(Prepared { ended: false, ..before })?;
        } else if kept && before.settled.is_some() && moves(experiment, workload, &before) {
            ledger.append_prepared(Prepared { settled: None, ..before })?;
        }
    }
    Ok(())
}

/// Whether a run of `experiment` sends other requests than those under which the data of `workload` settled.
fn moves(experiment: &Experiment, workload: &Workload, settled: &Prepared) -> bool {
    let prefix = format!("{}.", workload.name);
    let changed = |key: &String| key.starts_with(&prefix);
    let in_phases = plan(experiment).phases.iter().any(|phase| phase.settings.keys().any(changed));
    in_phases || settled.fingerprint != workload.settings.fingerprint()
}

/// Whether power-state transitions can be switched off where `experiment` asks for it.
///
/// # Errors
/// A disk's cannot.
pub fn check_power(experiment: &Experiment) -> Result<(), PrepareError> {
    if !experiment.prepare.power_states_off {
        return Ok(());
    }
    power::before(&power::files(&experiment.directory)).map(drop)
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
    Ok(files.is_empty().then(findings::power_states_unknown))
}

/// Restores what [`power_off`] switched.
///
/// # Errors
/// It cannot be restored.
pub(crate) fn restore_power(ledger: &mut Ledger) -> Result<(), PrepareError> {
    power::restore(ledger)
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
    book: &Book,
    (found, steps): (&Found, &[Step]),
    whole: bool,
) -> Result<(), PrepareError> {
    let left: Vec<&Workload> =
        if whole { Vec::new() } else { steps::left_to_workers(experiment, found, steps).collect() };
    if let Some(budget) = Budget::new(experiment.write_budget, book) {
        let wanted = sure_bytes(experiment, &left, steps);
        if wanted > budget.left_bytes() || budget.left_bytes() == 0 {
            let (wanted, left) = (ByteSize(wanted), ByteSize(budget.left_bytes()));
            return Err(PrepareError::OverBudget { wanted, limit: budget.limit, left });
        }
    }
    let asked = whole || experiment.prepare != PrepareTable::default();
    let Some(space) = found.space.filter(|_| asked) else { return Ok(()) };
    space.check(&experiment.directory, new_bytes(experiment, &left, steps), experiment.prepare.over_provisioning)
}

/// What `steps` and the workers of the workloads in `left` write at least: copies may share what they copy, and engines
/// may compress.
fn sure_bytes(experiment: &Experiment, left: &[&Workload], steps: &[Step]) -> u64 {
    let compressible = |name: &str| {
        let settings = experiment.workloads().find(|workload| workload.name == name).map(|one| &one.settings);
        matches!(settings, Some(WorkloadSettings::Kv(kv)) if KvPlan::new(kv).is_ok_and(|plan| plan.is_compressible()))
    };
    let of_steps = steps.iter().map(|step| match step {
        Step::Precondition { bytes, .. } => *bytes,
        Step::Data { workload, bytes, .. } if !compressible(workload) => *bytes,
        Step::Data { .. } | Step::Snapshot { .. } | Step::Restore { .. } => 0,
    });
    let own = left.iter().filter(|workload| !compressible(&workload.name));
    of_steps.chain(own.map(|workload| workload.settings.bytes_to_prepare())).fold(0, u64::saturating_add)
}

/// Whether what has to stay free is still free after a step: copies and engines take what nobody knows ahead.
fn check_space(experiment: &Experiment) -> Result<(), PrepareError> {
    let directory = &experiment.directory;
    let Some(share) = experiment.prepare.over_provisioning else { return Ok(()) };
    // Blocks that were given back are free once the file system has written that down; where it cannot, they are not.
    let _ = fs::File::open(directory).and_then(|directory| Ok(rustix::fs::syncfs(&directory)?));
    Space::of(directory).map_or(Ok(()), |space| space.check(directory, 0, Some(share)))
}

/// By how much the data grow that `steps` and the workers of the workloads in `left` make, and the copies of them.
fn new_bytes(experiment: &Experiment, left: &[&Workload], steps: &[Step]) -> u64 {
    let named = |name: &str| experiment.workloads().find(|workload| workload.name == name);
    let made = steps.iter().filter_map(|step| match step {
        Step::Data { workload, bytes, .. } if *bytes > 0 => named(workload),
        _ => None,
    });
    // What is made anew takes the place of what was there.
    let grown = |workload: &Workload| {
        let there = given_back_bytes(&experiment.directory.join(&workload.name));
        workload.settings.bytes_to_prepare().saturating_sub(there)
    };
    let data = made.chain(left.iter().copied()).map(grown);
    let copies = steps.iter().map(|step| match step {
        Step::Snapshot { bytes, .. } | Step::Restore { bytes, .. } => *bytes,
        Step::Precondition { .. } | Step::Data { .. } => 0,
    });
    data.chain(copies).fold(0, u64::saturating_add)
}

/// The space that removing `folder` gives back: that of files which have no other name.
fn given_back_bytes(folder: &Path) -> u64 {
    allocated_bytes(folder, &mut |file| file.nlink() == 1)
}

/// How the data settled from which the primary of `experiment` begins.
fn settled<'a>(experiment: &Experiment, book: &'a Book, prepared: &BTreeSet<PathBuf>) -> Option<&'a Prepared> {
    let primary = experiment.primary.as_ref()?;
    let folder = experiment.directory.join(&primary.name);
    book.prepared(&primary.name).filter(|one| prepared.contains(&folder) && one.settled.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_another_name_gives_nothing_back() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        fs::create_dir_all(one.join("db")).unwrap();
        fs::write(one.join("db/own"), vec![1; 1 << 20]).unwrap();
        fs::write(one.join("db/shared"), vec![1; 1 << 20]).unwrap();
        fs::hard_link(one.join("db/shared"), &two).unwrap();
        fs::File::open(one.join("db/own")).unwrap().sync_all().unwrap();
        fs::File::open(&two).unwrap().sync_all().unwrap();
        let bytes = given_back_bytes(&one);
        assert!(((1 << 20)..(2 << 20)).contains(&bytes), "{bytes}");
        assert_eq!(given_back_bytes(&dir.path().join("nothing")), 0);
    }
}
