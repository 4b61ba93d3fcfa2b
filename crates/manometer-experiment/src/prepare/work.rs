//! The steps of a preparation, done.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use manometer_measure::{ByteSize, Clock as _, MonotonicClock};
use manometer_target::engine::directory::{self, Marker};
use manometer_workload::io::IoSettings;
use manometer_workload::protocol::{Existing, Job};
use manometer_workload::settings::WorkloadSettings;

use super::account::Account;
use super::error::PrepareError;
use super::hold::hold;
use super::ledger::{Entry, Ledger, Prepared};
use super::session::{Stage, Until, session};
use super::settle::{Settled, Settling};
use super::snapshot::{self, SnapshotError, snapshots};
use super::state::{Copies, Used};
use super::steps::{self, Step};
use super::{SCRATCH, remove_scratch};
use crate::conductor::{Setup, existing, seed_of};
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
    /// What was used before copies were made and after.
    pub(super) copies: Option<Copies>,
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

    /// Runs `job` with an account of its own; `begun` as in [`session`].
    fn account_for(
        &mut self,
        what: &'static str,
        job: &Job,
        until: Until,
        begun: Option<Prepared>,
    ) -> Result<(Option<Settled>, u64), PrepareError> {
        let (directory, limit) = (&self.experiment.directory, self.experiment.write_budget);
        let mut account = Account::open(self.ledger, directory, what, limit, MonotonicClock.now_ns())?;
        let outcome = session(&mut self.stage, job, until, begun, &mut account);
        let bytes = account.written_bytes();
        let closed = account.close();
        // Why the work failed says more than that a full disk takes no line either.
        let settled = outcome?;
        closed?;
        Ok((settled, bytes))
    }

    /// Fills the free space, through the code of `io` workloads, with a file that is removed again.
    fn precondition(&mut self, kind: Precondition, file_bytes: u64) -> Result<(), PrepareError> {
        let id = Ledger::fresh_id("precondition");
        self.ledger.append(&id, Entry::Precondition { kind, bytes: 0, ended: false })?;
        let settings = WorkloadSettings::Io(filling(kind, file_bytes));
        let job = self.job(SCRATCH, settings, Existing::Remake, self.experiment.seed);
        let what = if kind == Precondition::Sequential { "writing in order" } else { "writing at random" };
        let filled = self.account_for("precondition", &job, Until::Written(file_bytes, what), None);
        let removed = remove_scratch(&self.experiment.directory);
        let (_, bytes) = filled?;
        removed?;
        Ok(self.ledger.append(&id, Entry::Precondition { kind, bytes, ended: true })?)
    }

    /// Makes the data of the workload `name`.
    fn data(&mut self, name: &str, rewrite: bool, settles: bool) -> Result<(), PrepareError> {
        let Some((index, workload)) = self.workload(name) else { return Ok(()) };
        let (workload, seed) = (workload.clone(), seed_of(self.experiment.seed, index));
        let folder = self.experiment.directory.join(name);
        let begun = Prepared {
            workload: name.to_owned(),
            settings: serde_json::to_value(&workload.settings).unwrap_or_default(),
            fingerprint: workload.settings.fingerprint(),
            seed,
            marker: None,
            rewritten: rewrite,
            settled: None,
            ended: false,
        };
        let (settings, until) = match &workload.settings {
            WorkloadSettings::Io(io) if rewrite => {
                (WorkloadSettings::Io(rewriting(io)), Until::Written(io.file_size.0, "rewriting at random"))
            }
            settings => match self.experiment.prepare.settle.filter(|_| settles) {
                Some(at_most) => (settings.clone(), Until::Settled(Box::new(Settling::new(at_most, settings.unit())))),
                None => (settings.clone(), Until::Ready),
            },
        };
        let existing = self.existing(&workload, seed, &folder);
        let mut job = self.job(name, settings, existing, seed);
        if settles {
            job.interval_ms = u64::try_from(self.experiment.interval.0.as_millis()).unwrap_or(u64::MAX);
        }
        // A database says itself when it is no longer the one of before; until then it may still be refused. Files do
        // not, and are made anew whatever is there.
        let later = workload.settings.marker(seed).is_some().then(|| begun.clone());
        if later.is_none() {
            self.ledger.append_prepared(begun.clone())?;
        }
        let outcome = self.account_for(if settles { "settle" } else { "load" }, &job, until, later);
        if outcome.is_err() {
            self.remove_half_made(&folder);
        }
        let settled = outcome?.0;
        self.ledger.append_prepared(as_made(begun, Marker::of(&folder), settled))?;
        self.made.insert(folder);
        Ok(())
    }

    /// What a worker of `workload` may do with data of ours in `folder`.
    fn existing(&self, workload: &Workload, seed: u64, folder: &Path) -> Existing {
        let existing = existing(self.setup.reuse, self.setup.made.contains(folder));
        let is_primary = self.experiment.primary.as_ref().is_some_and(|primary| primary.name == workload.name);
        if existing != Existing::Renew || !is_primary || !self.experiment.prepare.snapshot {
            return existing;
        }
        // A snapshot keeps what was just loaded, not what a run has used since.
        let equal = |there: Marker| {
            workload.settings.marker(seed).is_some_and(|wanted| there.differences(&wanted, false).is_empty())
        };
        if Marker::of(folder).is_some_and(equal) { Existing::Remake } else { Existing::Renew }
    }

    /// Gives the space of a database back whose loading failed; one that cannot be removed is made anew next time.
    fn remove_half_made(&mut self, folder: &Path) {
        let held = hold(folder, &mut || Ok(()));
        drop(held);
        if let Err(error) = directory::remove_half_made(folder) {
            tracing::warn!("what was loaded by halves stays: {error}");
        }
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
        let directory = &self.experiment.directory;
        let all = snapshots(directory);
        let kept = steps::chosen(&all, |one| &one.prepared, self.experiment, primary, self.setup.reuse);
        let Some(kept) = kept.cloned() else { return Ok(()) };
        let folder = directory.join(&primary.name);
        let ours = self.setup.made.contains(&folder) || self.made.contains(&folder);
        self.copying(|look| snapshot::restore(directory, &kept, ours, look))?;
        self.ledger.append_prepared(kept.prepared.clone())?;
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
        let before = self.copies.map_or_else(|| Used::of(directory), |copies| copies.before);
        let mut account = Account::open(self.ledger, directory, "snapshot", limit, MonotonicClock.now_ns())?;
        // Copies are made in this process.
        account.watch(std::process::id());
        let interrupted = self.stage.interrupted;
        let outcome = copy(&mut || {
            if interrupted.load(Ordering::Relaxed) {
                return Err(PrepareError::Interrupted);
            }
            Ok(account.look(MonotonicClock.now_ns())?)
        });
        let closed = account.close();
        let copied = outcome?;
        closed?;
        self.copies = Some(Copies { before, after: Used::of(directory) });
        Ok(copied)
    }

    fn workload(&self, name: &str) -> Option<(usize, &Workload)> {
        self.experiment.workloads().enumerate().find(|(_, workload)| workload.name == name)
    }

    fn job(&self, name: &str, workload: WorkloadSettings, existing: Existing, seed: u64) -> Job {
        let (name, directory) = (name.to_owned(), self.experiment.directory.clone());
        Job { name, directory, existing, interval_ms: INTERVAL_MS, seed, removes: false, workload }
    }
}

/// What is there counts, which with `reuse` may be another database than was asked for, of another seed.
fn as_made(begun: Prepared, marker: Option<Marker>, settled: Option<Settled>) -> Prepared {
    let seed = marker.as_ref().map_or(begun.seed, |marker| marker.seed);
    Prepared { seed, marker, settled, ended: true, ..begun }
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

#[cfg(test)]
mod tests {
    use manometer_workload::kv::KvSettings;

    use super::*;

    #[test]
    fn a_database_that_was_reused_has_the_seed_that_it_was_made_with() {
        let settings = KvSettings { engine: "redb".to_owned(), ..KvSettings::default() };
        let marker = WorkloadSettings::Kv(settings).marker(1).unwrap();
        let begun = Prepared {
            workload: "primary".to_owned(),
            settings: serde_json::Value::Null,
            fingerprint: 0,
            seed: 2,
            marker: None,
            rewritten: false,
            settled: None,
            ended: false,
        };
        let made = as_made(begun.clone(), Some(marker), None);
        assert!(made.ended && made.seed == 1);
        assert_eq!(as_made(begun, None, None).seed, 2, "files do not say");
    }
}
