//! Brings the device and the data into a state that can be measured, and writes down how.
//!
//! [`steps`] decides what is to be done from what is there, [`bring`] does it. The ledger ([`ledger`]) holds what was
//! written to the device from a directory, and what is prepared there; [`account`] keeps it while something writes and
//! stops before a write budget is passed. Measuring is left to the conductor.

pub mod account;
pub mod counter;
pub mod erase;
pub mod ledger;
mod power;
mod session;
pub mod settle;
pub mod snapshot;
mod space;
mod state;
pub mod steps;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use manometer_measure::event::{Finding, Severity};
use manometer_measure::{ByteSize, Clock as _, MonotonicClock};
use manometer_workload::io::IoSettings;
use manometer_workload::protocol::{Existing, Job};
use manometer_workload::settings::WorkloadSettings;
use serde_json::Value;

use self::account::{Account, Budget};
use self::ledger::{Book, Entry, Ledger, LedgerError, Prepared};
use self::session::{Stage, Until, session};
use self::settle::{Settled, Settling};
use self::snapshot::{SnapshotError, snapshots};
use self::steps::{Found, Step};
use crate::conductor::{Setup, Update, seed_of};
use crate::file::{Experiment, Precondition, PrepareTable, Workload};

/// The folder of the file that fills free space; there only while it is filled.
const SCRATCH: &str = ".manometer-scratch";

/// How often a worker that prepares tells what it did.
const INTERVAL_MS: u64 = 100;

/// Requests in flight while files are rewritten: enough for any device.
const FILL_DEPTH: u32 = 32;

/// A preparation that cannot be, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// The ledger cannot be kept.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// What is known to be written would pass the budget.
    #[error(
        "preparing writes at least {wanted}, and of the write budget {limit} only {left} are left: raise \
         `device.write_budget`, or make the data smaller"
    )]
    OverBudget {
        /// What is known to be written.
        wanted: ByteSize,
        /// `device.write_budget`.
        limit: ByteSize,
        /// What is left of it.
        left: ByteSize,
    },
    /// The budget was spent on the way.
    #[error("{0}")]
    Budget(String),
    /// The data do not fit.
    #[error(
        "{} has {free} free, of which {kept} stay so (`prepare.over_provisioning`): the data take {wanted}; make them \
         smaller, or free space",
        directory.display()
    )]
    Space {
        /// The device directory.
        directory: PathBuf,
        /// What is to be written.
        wanted: ByteSize,
        /// What is free.
        free: ByteSize,
        /// What has to stay free.
        kept: ByteSize,
    },
    /// A worker could not prepare its data.
    #[error("`{workload}` could not be prepared: {text}")]
    Workload {
        /// The workload.
        workload: String,
        /// What it said.
        text: String,
    },
    /// A snapshot could not be made or put back.
    #[error(transparent)]
    Snapshot(SnapshotError),
    /// Power-state transitions cannot be switched.
    #[error(
        "{}: {source}: power-state transitions cannot be switched; run as root, or leave `prepare.power_states_off` \
         out",
        path.display()
    )]
    Power {
        /// The file that switches them.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A leftover of a preparation that was cut cannot be removed.
    #[error("{}: {source}: it was left by a preparation that was cut, and has to be removed", path.display())]
    Leftover {
        /// The folder.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// Somebody ended it.
    #[error("interrupted while preparing: what was done to its end is kept, the rest is made anew next time")]
    Interrupted,
}

impl From<SnapshotError> for PrepareError {
    fn from(error: SnapshotError) -> Self {
        match error {
            SnapshotError::Stopped(reason) => *reason,
            other => Self::Snapshot(other),
        }
    }
}

impl PrepareError {
    /// Whether another request would have been right, and nothing was begun.
    pub fn is_wrong_request(&self) -> bool {
        matches!(self, Self::OverBudget { .. } | Self::Space { .. } | Self::Ledger(LedgerError::Damaged { .. }))
    }
}

/// What a run would do to prepare, and what that costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Outline {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// What the steps write, and what the workers of the run write to make their data.
    pub bytes: u64,
}

/// What the preparations of `runs` would be, one after the other.
pub fn outline(runs: &[Experiment], book: &Book, reuse: bool, whole: bool) -> Vec<Outline> {
    let mut outlines = Vec::new();
    let mut found: Option<(PathBuf, Found)> = None;
    for run in runs {
        let known = found.take().filter(|(directory, _)| *directory == run.directory);
        let before = known.map_or_else(|| Found::of(run, book), |(_, found)| found);
        let steps = steps::steps(run, &before, whole);
        let own = if whole { 0 } else { steps::left_to_workers(run, &before, &steps, |_| reuse) };
        let bytes = steps.iter().map(Step::bytes).fold(own, u64::saturating_add);
        found = Some((run.directory.clone(), before.after(run, &steps)));
        outlines.push(Outline { steps, bytes });
    }
    outlines
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
    match fs::remove_dir_all(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(PrepareError::Leftover { path, source }),
        _ => Ok(()),
    }
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

/// A preparation that goes on.
struct Preparation<'a, 'b> {
    experiment: &'a Experiment,
    setup: &'a Setup<'a>,
    ledger: &'a mut Ledger,
    stage: Stage<'b>,
    made: BTreeSet<PathBuf>,
    /// The snapshot that the primary's database is.
    snapshot: Option<String>,
}

impl Preparation<'_, '_> {
    fn perform(&mut self, step: &Step) -> Result<(), PrepareError> {
        match step {
            Step::Precondition { kind, file_bytes, .. } => self.precondition(*kind, *file_bytes),
            Step::Data { workload, rewrite, settle_s, .. } => self.data(workload, *rewrite, settle_s.is_some()),
            Step::Snapshot { .. } => self.keep(),
            Step::Restore { .. } => self.put_back(),
        }
    }

    /// Runs `job` with an account of its own.
    fn account_for(
        &mut self,
        what: &'static str,
        job: &Job,
        until: Until,
    ) -> Result<(Option<Settled>, u64), PrepareError> {
        let (directory, limit) = (&self.experiment.directory, self.experiment.write_budget);
        let mut account = Account::open(self.ledger, directory, what, limit, MonotonicClock.now_ns())?;
        let outcome = session(&mut self.stage, job, until, &mut account);
        let bytes = account.written_bytes();
        account.close()?;
        Ok((outcome?, bytes))
    }

    /// Fills the free space, through the code of `io` workloads, with a file that is removed again.
    fn precondition(&mut self, kind: Precondition, file_bytes: u64) -> Result<(), PrepareError> {
        let id = Ledger::fresh_id("precondition");
        self.ledger.append(&id, Entry::Precondition { kind, bytes: 0, ended: false })?;
        let settings = WorkloadSettings::Io(filling(kind, file_bytes));
        let job = self.job(SCRATCH, settings, Existing::Remake, self.experiment.seed);
        let what = if kind == Precondition::Sequential { "writing in order" } else { "writing at random" };
        let filled = self.account_for("precondition", &job, Until::Written(file_bytes, what));
        remove_scratch(&self.experiment.directory)?;
        let (_, bytes) = filled?;
        Ok(self.ledger.append(&id, Entry::Precondition { kind, bytes, ended: true })?)
    }

    /// Makes the data of the workload `name`.
    fn data(&mut self, name: &str, rewrite: bool, settles: bool) -> Result<(), PrepareError> {
        let Some((index, workload)) = self.workload(name) else { return Ok(()) };
        let (workload, seed) = (workload.clone(), seed_of(self.experiment.seed, index));
        let mut prepared = Prepared {
            workload: name.to_owned(),
            settings: serde_json::to_value(&workload.settings).unwrap_or_default(),
            seed,
            rewritten: rewrite,
            settled: None,
            ended: false,
        };
        let id = format!("prepared-{name}");
        self.ledger.append(&id, Entry::Prepared(prepared.clone()))?;
        let folder = self.experiment.directory.join(name);
        let (settings, until) = match &workload.settings {
            WorkloadSettings::Io(io) if rewrite => {
                (WorkloadSettings::Io(rewriting(io)), Until::Written(io.file_size.0, "rewriting at random"))
            }
            settings => match self.experiment.prepare.settle.filter(|_| settles) {
                Some(at_most) => (settings.clone(), Until::Settled(Box::new(Settling::new(at_most, settings.unit())))),
                None => (settings.clone(), Until::Ready),
            },
        };
        let existing = match (self.setup.reuse, self.setup.made.contains(&folder)) {
            (true, _) => Existing::Reuse,
            (false, true) => Existing::Renew,
            (false, false) => Existing::Remake,
        };
        let interval_ms = u64::try_from(self.experiment.interval.0.as_millis()).unwrap_or(u64::MAX);
        let mut job = self.job(name, settings, existing, seed);
        if settles {
            job.interval_ms = interval_ms;
        }
        prepared.settled = self.account_for(if settles { "settle" } else { "load" }, &job, until)?.0;
        prepared.ended = true;
        self.ledger.append(&id, Entry::Prepared(prepared))?;
        self.made.insert(folder);
        Ok(())
    }

    /// Keeps the primary's database.
    fn keep(&mut self) -> Result<(), PrepareError> {
        let Some(primary) = &self.experiment.primary else { return Ok(()) };
        let Some(prepared) = self.ledger.book().prepared(&primary.name).cloned() else { return Ok(()) };
        let (directory, engine) = (&self.experiment.directory, steps::engine(primary));
        let made = self.copying(|look| snapshot::make(directory, &prepared, engine, look))?;
        self.snapshot = Some(made.name());
        Ok(())
    }

    /// Puts the primary's database back as it was kept.
    fn put_back(&mut self) -> Result<(), PrepareError> {
        let Some(primary) = &self.experiment.primary else { return Ok(()) };
        let (directory, seed) = (&self.experiment.directory, seed_of(self.experiment.seed, 0));
        let all = snapshots(directory);
        let serves = |one: &&snapshot::Snapshot| steps::snapshot_serves(&one.prepared, self.experiment, primary, seed);
        let Some(kept) = all.iter().find(serves).cloned() else { return Ok(()) };
        let folder = directory.join(&primary.name);
        let ours = self.setup.made.contains(&folder) || self.made.contains(&folder);
        self.copying(|look| snapshot::restore(directory, &kept, ours, look))?;
        self.ledger.append(&format!("prepared-{}", primary.name), Entry::Prepared(kept.prepared.clone()))?;
        self.snapshot = Some(kept.name());
        self.made.insert(folder);
        Ok(())
    }

    /// Copies with an account of its own, which is looked at on the way.
    fn copying<T>(
        &mut self,
        copy: impl FnOnce(&mut dyn FnMut() -> Result<(), PrepareError>) -> Result<T, SnapshotError>,
    ) -> Result<T, PrepareError> {
        let (directory, limit) = (&self.experiment.directory, self.experiment.write_budget);
        let mut account = Account::open(self.ledger, directory, "snapshot", limit, MonotonicClock.now_ns())?;
        // Copies are made in this process.
        account.watch(std::process::id());
        let interrupted = self.stage.interrupted;
        let outcome = copy(&mut || {
            if interrupted.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(PrepareError::Interrupted);
            }
            account.look(MonotonicClock.now_ns()).map_or(Ok(()), |reason| Err(PrepareError::Budget(reason)))
        });
        account.close()?;
        Ok(outcome?)
    }

    fn workload(&self, name: &str) -> Option<(usize, &Workload)> {
        self.experiment.workloads().enumerate().find(|(_, workload)| workload.name == name)
    }

    fn job(&self, name: &str, workload: WorkloadSettings, existing: Existing, seed: u64) -> Job {
        let (name, directory) = (name.to_owned(), self.experiment.directory.clone());
        Job { name, directory, existing, interval_ms: INTERVAL_MS, seed, workload }
    }
}

/// Fills a file of `file_bytes`: making it writes it once in order, and then it is written once more.
fn filling(kind: Precondition, file_bytes: u64) -> IoSettings {
    let (block_size, random_ratio) = match kind {
        Precondition::Sequential => (ByteSize(128 << 10), 0.0),
        Precondition::Random | Precondition::None => (ByteSize(4 << 10), 1.0),
    };
    IoSettings {
        file_size: ByteSize(file_bytes),
        block_size,
        write_ratio: 1.0,
        random_ratio,
        iodepth: FILL_DEPTH,
        ..IoSettings::default()
    }
}

/// Rewrites the files of a neighbour at random.
fn rewriting(neighbour: &IoSettings) -> IoSettings {
    IoSettings { files: neighbour.files, ..filling(Precondition::Random, neighbour.file_size.0) }
}
