//! Performs the steps of a preparation.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use manometer_measure::{ByteSize, Clock as _, MonotonicClock};
use manometer_session::protocol::{DatabaseReuse, Job};
use manometer_target::engine::directory::{self, DatabaseManifest};
use manometer_workload::io::IoSettings;
use manometer_workload::settings::WorkloadSettings;

use super::database_lock::lock_database;
use super::device_state::{CopyUsage, SpaceUsage};
use super::error::PrepareError;
use super::ledger::{Ledger, LedgerEntry, PreparedData};
use super::scratch::{SCRATCH_FOLDER, remove_scratch};
use super::session::{PrepareContext, StopCondition, session};
use super::settle::{SettleMonitor, SettleResult};
use super::snapshot::{self, snapshots_in};
use super::steps::{self, PrepareStep};
use super::write_account::WriteAccount;
use crate::definition::{Experiment, ExperimentWorkload, Precondition};
use crate::progress::ProgressUpdate;
use crate::setup::{RunSetup, existing_data_policy, worker_seed};

/// The sample interval of a worker that prepares.
const SAMPLE_INTERVAL_MS: u64 = 100;

/// The queue depth of filling and rewriting files: enough for any device.
const FILL_IODEPTH: u32 = 32;

/// Performs the steps of one preparation.
pub(super) struct StepExecutor<'a, 'b> {
    experiment: &'a Experiment,
    setup: &'a RunSetup<'a>,
    ledger: &'a mut Ledger,
    stage: PrepareContext<'b>,
    created: BTreeSet<PathBuf>,
    /// The name of the snapshot from which the primary's database was created or restored.
    snapshot: Option<String>,
    /// The usage before and after copies.
    copies: Option<CopyUsage>,
}

impl<'a: 'b, 'b> StepExecutor<'a, 'b> {
    pub(super) fn new(
        experiment: &'a Experiment,
        setup: &'a RunSetup<'a>,
        ledger: &'a mut Ledger,
        watch: &'b mut dyn FnMut(ProgressUpdate<'_>),
    ) -> Self {
        let stage = PrepareContext { program: &setup.program, interrupted: setup.interrupted, watch };
        Self { experiment, setup, ledger, stage, created: BTreeSet::new(), snapshot: None, copies: None }
    }

    /// Ends the preparation. Returns the folders whose data were created, the name of the snapshot that the primary's
    /// database is, and the usage before and after copies.
    pub(super) fn finish(self) -> (BTreeSet<PathBuf>, Option<String>, Option<CopyUsage>) {
        (self.created, self.snapshot, self.copies)
    }

    pub(super) fn perform(&mut self, step: &PrepareStep) -> Result<(), PrepareError> {
        match step {
            PrepareStep::Precondition { kind, file_bytes, .. } => self.precondition(*kind, *file_bytes),
            PrepareStep::Data { workload, rewrite, settle_s, .. } => {
                self.create_data(workload, *rewrite, settle_s.is_some())
            }
            PrepareStep::Snapshot { .. } => self.create_snapshot(),
            PrepareStep::Restore { .. } => self.restore_snapshot(),
        }
    }

    /// Runs `job` with a separate account; `begun` as in [`session`]. Returns how it settled and the bytes written.
    fn run_accounted(
        &mut self,
        what: &'static str,
        job: &Job,
        until: StopCondition,
        begun: Option<PreparedData>,
    ) -> Result<(Option<SettleResult>, u64), PrepareError> {
        let limit = self.experiment.write_budget;
        let mut account = WriteAccount::open(self.ledger, what, limit, MonotonicClock.now_ns())?;
        let outcome = session(&mut self.stage, job, until, begun, &mut account);
        let bytes = account.written_bytes();
        let closed = account.close();
        // The error of the work explains more than a ledger that a full disk makes unwritable.
        let settled = outcome?;
        closed?;
        Ok((settled, bytes))
    }

    /// Fills the free space with a file, written by an `io` workload and removed again.
    fn precondition(&mut self, kind: Precondition, file_bytes: u64) -> Result<(), PrepareError> {
        let id = Ledger::new_id("precondition");
        self.ledger.append(&id, LedgerEntry::Precondition { kind, bytes: 0, ended: false })?;
        let settings = WorkloadSettings::Io(fill_settings(kind, file_bytes));
        let job = self.job(SCRATCH_FOLDER, settings, DatabaseReuse::Remake, self.experiment.seed);
        let what = if kind == Precondition::Sequential { "writing sequentially" } else { "writing randomly" };
        let filled = self.run_accounted("precondition", &job, StopCondition::Written(file_bytes, what), None);
        let removed = remove_scratch(self.ledger.directory());
        let (_, bytes) = filled?;
        removed?;
        Ok(self.ledger.append(&id, LedgerEntry::Precondition { kind, bytes, ended: true })?)
    }

    /// Creates the data of the workload `name`.
    fn create_data(&mut self, name: &str, rewrite: bool, settles: bool) -> Result<(), PrepareError> {
        let Some((index, workload)) = self.experiment.workload(name) else { return Ok(()) };
        let (workload, seed) = (workload.clone(), worker_seed(self.experiment.seed, index));
        let folder = self.experiment.folder(name);
        let begun = PreparedData {
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
            WorkloadSettings::Io(io) if rewrite => (
                WorkloadSettings::Io(rewrite_settings(io)),
                StopCondition::Written(io.file_size.0, "rewriting randomly"),
            ),
            settings => match self.experiment.prepare.settle.filter(|_| settles) {
                Some(max_time) => {
                    (settings.clone(), StopCondition::Settled(Box::new(SettleMonitor::new(max_time, settings.unit()))))
                }
                None => (settings.clone(), StopCondition::Ready),
            },
        };
        let existing = self.existing_data_policy(&workload, seed, &folder);
        let mut job = self.job(name, settings, existing, seed);
        if settles {
            job.interval_ms = self.experiment.interval.milliseconds();
        }
        // A database has a marker that shows when it is replaced; until then it may be refused. Files have none, and are
        // always created again.
        let later = workload.settings.marker(seed).is_some().then(|| begun.clone());
        if later.is_none() {
            self.ledger.append_prepared(begun.clone())?;
        }
        let outcome = self.run_accounted(if settles { "settle" } else { "load" }, &job, until, later);
        if outcome.is_err() {
            self.remove_incomplete_database(name);
        }
        let settled = outcome?.0;
        self.ledger.append_prepared(as_created(begun, DatabaseManifest::read(&folder), settled))?;
        self.created.insert(folder);
        Ok(())
    }

    /// What a worker of `workload` may do with our data in `folder`.
    fn existing_data_policy(&self, workload: &ExperimentWorkload, seed: u64, folder: &Path) -> DatabaseReuse {
        let policy = existing_data_policy(self.setup.reuse, self.setup.created.contains(folder));
        let is_for_snapshot = self.experiment.prepare.snapshot && self.experiment.is_primary(workload);
        if policy != DatabaseReuse::Renew || !is_for_snapshot {
            return policy;
        }
        // A snapshot contains freshly loaded data, not data that a run has used since.
        let is_equal = |there: DatabaseManifest| {
            workload.settings.marker(seed).is_some_and(|required| there.differences(&required, false).is_empty())
        };
        if DatabaseManifest::read(folder).is_some_and(is_equal) { DatabaseReuse::Remake } else { DatabaseReuse::Renew }
    }

    /// Removes a database whose loading failed. Where that fails, the next preparation replaces it.
    fn remove_incomplete_database(&mut self, name: &str) {
        // Waits for the worker to end.
        drop(lock_database(self.ledger.directory(), name, &mut || Ok(())));
        let Ok(folder) = self.ledger.directory().directory(name) else { return };
        if let Err(error) = directory::remove_incomplete(folder) {
            tracing::warn!("the incomplete database could not be removed: {error}");
        }
    }

    /// Creates a snapshot of the primary's database.
    fn create_snapshot(&mut self) -> Result<(), PrepareError> {
        let Some(primary) = &self.experiment.primary else { return Ok(()) };
        let Some(data) = self.ledger.entries().prepared(&primary.name).cloned() else { return Ok(()) };
        let (directory, engine) = (self.ledger.directory().clone(), steps::engine_of(primary));
        let created = self.copy_accounted(|check_stop| snapshot::create(&directory, &data, engine, check_stop))?;
        self.snapshot = Some(created.name());
        Ok(())
    }

    /// Restores the primary's database from its snapshot.
    fn restore_snapshot(&mut self) -> Result<(), PrepareError> {
        let Some(primary) = &self.experiment.primary else { return Ok(()) };
        let directory = self.ledger.directory().clone();
        let all = snapshots_in(&directory);
        let best = steps::best_match(&all, |one| &one.data, self.experiment, primary, self.setup.reuse);
        let Some(best) = best.cloned() else { return Ok(()) };
        let folder = self.experiment.folder(&primary.name);
        let ours = self.setup.created.contains(&folder) || self.created.contains(&folder);
        self.copy_accounted(|check_stop| snapshot::restore(&directory, &best, ours, check_stop))?;
        self.ledger.append_prepared(best.data.clone())?;
        self.snapshot = Some(best.name());
        self.created.insert(folder);
        Ok(())
    }

    /// Copies with a separate account, which is checked during the copy.
    fn copy_accounted<T>(
        &mut self,
        copy: impl FnOnce(&mut dyn FnMut() -> Result<(), PrepareError>) -> Result<T, PrepareError>,
    ) -> Result<T, PrepareError> {
        let (directory, limit) = (&self.experiment.directory, self.experiment.write_budget);
        let before = self.copies.map_or_else(|| SpaceUsage::of(directory), |copies| copies.before);
        let mut account = WriteAccount::open(self.ledger, "snapshot", limit, MonotonicClock.now_ns())?;
        // This process writes the copies.
        account.add_process(std::process::id());
        let interrupted = self.stage.interrupted;
        let outcome = copy(&mut || {
            if interrupted.load(Ordering::Relaxed) {
                return Err(PrepareError::Interrupted);
            }
            Ok(account.check(MonotonicClock.now_ns())?)
        });
        let closed = account.close();
        let copied = outcome?;
        closed?;
        self.copies = Some(CopyUsage { before, after: SpaceUsage::of(directory) });
        Ok(copied)
    }

    fn job(&self, name: &str, workload: WorkloadSettings, existing: DatabaseReuse, seed: u64) -> Job {
        Job::alone(name, &self.experiment.directory, existing, SAMPLE_INTERVAL_MS, seed, workload)
    }
}

/// The data as created. With `reuse` they may be another database than requested, of another seed: its marker is valid.
fn as_created(begun: PreparedData, marker: Option<DatabaseManifest>, settled: Option<SettleResult>) -> PreparedData {
    let seed = marker.as_ref().map_or(begun.seed, |marker| marker.seed);
    PreparedData { seed, marker, settled, ended: true, ..begun }
}

/// Fills a file of `file_bytes`: creating it writes it once sequentially, and then it is written once more.
fn fill_settings(kind: Precondition, file_bytes: u64) -> IoSettings {
    let (block_size, random_ratio) = match kind {
        Precondition::Sequential => (ByteSize(128 << 10), 0.0),
        Precondition::Random | Precondition::None => (ByteSize(4 << 10), 1.0),
    };
    IoSettings {
        file_size: ByteSize(file_bytes),
        block_size,
        write_ratio: 1.0,
        random_ratio,
        iodepth: FILL_IODEPTH,
        ..IoSettings::default()
    }
}

/// Rewrites the files of a neighbour with random writes.
fn rewrite_settings(neighbour: &IoSettings) -> IoSettings {
    IoSettings { files: neighbour.files, ..fill_settings(Precondition::Random, neighbour.file_size.0) }
}

#[cfg(test)]
mod tests {
    use manometer_workload::kv::KvSettings;

    use super::*;

    #[test]
    fn reused_data_keep_the_seed_of_their_marker() {
        let settings = KvSettings { engine: "redb".to_owned(), ..KvSettings::default() };
        let marker = WorkloadSettings::Kv(settings).marker(1).unwrap();
        let begun = PreparedData {
            workload: "primary".to_owned(),
            settings: serde_json::Value::Null,
            fingerprint: 0,
            seed: 2,
            marker: None,
            rewritten: false,
            settled: None,
            ended: false,
        };
        let created = as_created(begun.clone(), Some(marker), None);
        assert!(created.ended && created.seed == 1);
        assert_eq!(as_created(begun, None, None).seed, 2, "files have no marker");
    }
}
