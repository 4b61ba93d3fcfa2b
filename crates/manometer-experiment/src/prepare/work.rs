//! The steps of a preparation, done.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use manometer_measure::{ByteSize, Clock as _, MonotonicClock};
use manometer_workload::io::IoSettings;
use manometer_workload::protocol::{Existing, Job};
use manometer_workload::settings::WorkloadSettings;

use super::account::Account;
use super::error::PrepareError;
use super::ledger::{Entry, Ledger, Prepared};
use super::session::{Stage, Until, session};
use super::settle::{Settled, Settling};
use super::snapshot::{self, SnapshotError, snapshots};
use super::steps::{self, Step};
use super::{SCRATCH, remove_scratch};
use crate::conductor::{Setup, seed_of};
use crate::file::{Experiment, Precondition, Workload};

/// How often a worker that prepares tells what it did.
const INTERVAL_MS: u64 = 100;

/// Requests in flight while files are rewritten: enough for any device.
const FILL_DEPTH: u32 = 32;

/// A preparation that goes on.
pub(super) struct Preparation<'a, 'b> {
    pub(super) experiment: &'a Experiment,
    pub(super) setup: &'a Setup<'a>,
    pub(super) ledger: &'a mut Ledger,
    pub(super) stage: Stage<'b>,
    pub(super) made: BTreeSet<PathBuf>,
    /// The snapshot that the primary's database is.
    pub(super) snapshot: Option<String>,
}

impl Preparation<'_, '_> {
    pub(super) fn perform(&mut self, step: &Step) -> Result<(), PrepareError> {
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
            if interrupted.load(Ordering::Relaxed) {
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
