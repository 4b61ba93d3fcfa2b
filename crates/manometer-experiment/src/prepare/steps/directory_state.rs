//! The state of a device directory: now, and after steps and runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use manometer_session::protocol::DatabaseReuse;
use manometer_target::engine::directory::DatabaseManifest;
use manometer_workload::io;
use manometer_workload::settings::WorkloadSettings;

use super::super::ledger::{LedgerEntries, PreparedData};
use super::super::settle::SettleResult;
use super::super::snapshot::{DataSnapshot, snapshots};
use super::super::space::Space;
use super::{PrepareStep, can_be_created_ahead, changes_requests, is_rewritten, prepared_folders};
use crate::definition::{Experiment, ExperimentWorkload, Precondition, workloads_in_phases};
use crate::setup::{existing_data_policy, worker_seed};

/// The data in a workload's folder.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ExistingData {
    Database(Box<DatabaseManifest>),
    /// The lengths of the files.
    Files(Vec<u64>),
}

impl ExistingData {
    fn read(folder: &Path, workload: &ExperimentWorkload) -> Option<Self> {
        match &workload.settings {
            WorkloadSettings::Io(settings) => {
                let length = |path: PathBuf| std::fs::metadata(path).ok().map(|file| file.len());
                io::paths_in(folder, settings).into_iter().map(length).collect::<Option<_>>().map(Self::Files)
            }
            WorkloadSettings::Files(_)
            | WorkloadSettings::Paths(_)
            | WorkloadSettings::Kv(_)
            | WorkloadSettings::Replay(_)
            | WorkloadSettings::Command(_) => {
                DatabaseManifest::read(folder).map(|marker| Self::Database(Box::new(marker)))
            }
        }
    }

    /// The data that a workload of `settings` and `seed` creates.
    fn created_by(settings: &WorkloadSettings, seed: u64) -> Option<Self> {
        match settings {
            WorkloadSettings::Io(io) => Some(Self::Files(vec![io.bytes_each(); io.files as usize])),
            other => {
                other.marker(seed).map(|marker| Self::Database(Box::new(DatabaseManifest { loaded: true, ..marker })))
            }
        }
    }

    /// Whether a worker of `settings` and `seed` uses the data as they are, under the policy `existing`.
    fn is_used(&self, settings: &WorkloadSettings, seed: u64, existing: DatabaseReuse) -> bool {
        match (existing, self, settings) {
            (DatabaseReuse::Remake, ..) => false,
            (_, Self::Files(_), _) => Self::created_by(settings, seed).as_ref() == Some(self),
            (_, Self::Database(there), _) => {
                let reuse = existing == DatabaseReuse::Reuse;
                settings.marker(seed).is_some_and(|required| there.serves(&required, reuse))
            }
        }
    }
}

/// The state of a device directory.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectoryState {
    /// The valid preconditioning.
    pub(super) precondition: Option<Precondition>,
    /// Prepared data that have not changed since.
    pub(super) prepared: Vec<PreparedData>,
    /// The data in snapshots, and the bytes that restoring each writes.
    pub(super) snapshots: Vec<(PreparedData, u64)>,
    /// The data in the folders of workloads, by workload.
    pub(super) existing: BTreeMap<String, ExistingData>,
    /// Whether data of another experiment may be used.
    pub(super) reuse: bool,
    /// The folders whose data this command created.
    pub(super) created: BTreeSet<PathBuf>,
    /// The space of the file system and the device.
    pub(in crate::prepare) space: Option<Space>,
}

impl DirectoryState {
    /// Reads the state of the directory of `experiment` and its ledger `entries`, for a command that may `reuse` data of
    /// others and has `created` data itself.
    pub fn read(experiment: &Experiment, entries: &LedgerEntries, reuse: bool, created: &BTreeSet<PathBuf>) -> Self {
        let data = |workload: &ExperimentWorkload| ExistingData::read(&experiment.folder(&workload.name), workload);
        let existing: BTreeMap<String, ExistingData> =
            experiment.workloads().filter_map(|workload| Some((workload.name.clone(), data(workload)?))).collect();
        let is_unchanged = |prepared: &&PreparedData| match (existing.get(&prepared.workload), &prepared.marker) {
            (Some(ExistingData::Database(now)), Some(then)) => **now == *then,
            (Some(ExistingData::Files(_)), None) => true,
            _ => false,
        };
        let prepared = experiment.workloads().filter_map(|one| entries.prepared(&one.name)).filter(is_unchanged);
        let with_bytes = |snapshot: DataSnapshot| {
            let bytes = snapshot.copied_bytes();
            (snapshot.data, bytes)
        };
        Self {
            precondition: entries.precondition().map(|(kind, ..)| kind),
            prepared: prepared.cloned().collect(),
            snapshots: snapshots(&experiment.directory).into_iter().map(with_bytes).collect(),
            reuse,
            created: created.clone(),
            space: Space::of(&experiment.directory),
            existing,
        }
    }

    /// Whether the preconditioning of `experiment` is still to be done.
    pub(in crate::prepare) fn lacks_precondition(&self, experiment: &Experiment) -> bool {
        let kind = experiment.prepare.precondition;
        kind != Precondition::None && self.precondition != Some(kind)
    }

    /// The state after `steps` and the run of `experiment`.
    pub fn after_run(mut self, experiment: &Experiment, steps: &[PrepareStep]) -> Self {
        for step in steps {
            self.apply_step(experiment, step);
        }
        let used: BTreeSet<PathBuf> = prepared_folders(experiment, &self).collect();
        let phases = workloads_in_phases(experiment);
        for (index, workload) in experiment.workloads().enumerate() {
            let (name, seed) = (&workload.name, worker_seed(experiment.seed, index));
            let folder = experiment.folder(name);
            if !used.contains(&folder) && matches!(workload.settings, WorkloadSettings::Io(_)) {
                self.prepared.retain(|one| one.workload != *name);
            } else if let Some(last) = self.prepared.iter_mut().rev().find(|one| one.workload == *name) {
                last.settled = last.settled.filter(|_| !changes_requests(experiment, workload, last));
            }
            // Data that a phase changes serve no later run.
            let marker = workload.settings.marker(seed);
            let is_preserved =
                |one: &&ExperimentWorkload| can_be_created_ahead(one) && one.settings.marker(seed) == marker;
            let is_preserved = phases.iter().filter(|one| one.name == *name).all(|one| is_preserved(&one));
            match ExistingData::created_by(&workload.settings, seed).filter(|_| is_preserved) {
                Some(data) => self.existing.insert(name.clone(), data),
                None => self.existing.remove(name),
            };
            self.created.insert(folder);
        }
        self
    }

    fn apply_step(&mut self, experiment: &Experiment, step: &PrepareStep) {
        match step {
            PrepareStep::Precondition { kind, .. } => self.precondition = Some(*kind),
            PrepareStep::Data { workload, .. } => {
                self.prepared.extend(prepared_by_step(experiment, workload));
                self.add_data_of(experiment, workload);
            }
            PrepareStep::Snapshot { workload, bytes } => {
                self.snapshots.extend(prepared_by_step(experiment, workload).map(|one| (one, *bytes)));
            }
            PrepareStep::Restore { workload, .. } => self.add_data_of(experiment, workload),
        }
    }

    /// Adds the data of the workload `name`, as a step creates them.
    fn add_data_of(&mut self, experiment: &Experiment, name: &str) {
        let Some((index, workload)) = experiment.workload(name) else { return };
        let data = ExistingData::created_by(&workload.settings, worker_seed(experiment.seed, index));
        self.existing.extend(data.map(|data| (name.to_owned(), data)));
    }

    /// Adds the current data of the workloads of `experiment` that are not among `known`.
    pub fn with_new_workloads(
        mut self,
        experiment: &Experiment,
        entries: &LedgerEntries,
        known: &BTreeSet<String>,
    ) -> Self {
        let now = Self::read(experiment, entries, self.reuse, &self.created);
        self.existing.extend(now.existing.into_iter().filter(|(name, _)| !known.contains(name)));
        self.prepared.extend(now.prepared.into_iter().filter(|one| !known.contains(&one.workload)));
        self
    }

    /// Whether the prepared data of `workload` serve a run of `experiment`.
    pub(super) fn has_prepared_data(
        &self,
        experiment: &Experiment,
        workload: &ExperimentWorkload,
        index: usize,
    ) -> bool {
        let last = self.prepared.iter().rev().find(|one| one.workload == workload.name);
        let seed = worker_seed(experiment.seed, index);
        let is_suitable = |one: &PreparedData| {
            (one.rewritten || !is_rewritten(experiment, workload))
                && serves(one, experiment, workload, seed, self.reuse)
        };
        last.is_some_and(is_suitable) && self.uses_existing_data(experiment, workload, index, true)
    }

    /// Whether a worker of `workload` uses the data in its folder; `prepared`: they were prepared for it.
    pub(super) fn uses_existing_data(
        &self,
        experiment: &Experiment,
        workload: &ExperimentWorkload,
        index: usize,
        prepared: bool,
    ) -> bool {
        let ours = prepared || self.created.contains(&experiment.folder(&workload.name));
        let (policy, seed) = (existing_data_policy(self.reuse, ours), worker_seed(experiment.seed, index));
        self.existing.get(&workload.name).is_some_and(|data| data.is_used(&workload.settings, seed, policy))
    }

    /// The bytes that creating the data of `workload` writes: 0 where existing data are used.
    pub(super) fn bytes_to_create(&self, experiment: &Experiment, workload: &ExperimentWorkload, index: usize) -> u64 {
        if self.uses_existing_data(experiment, workload, index, false) {
            return 0;
        }
        workload.settings.bytes_to_prepare()
    }

    /// The snapshot from which a run of `experiment` starts, and the bytes that restoring it writes.
    pub(super) fn best_snapshot(
        &self,
        experiment: &Experiment,
        primary: &ExperimentWorkload,
    ) -> Option<&(PreparedData, u64)> {
        best_match(&self.snapshots, |(one, _)| one, experiment, primary, self.reuse)
    }
}

/// The one of `all` from which a run of `experiment` starts: an exact match is preferred to one that only `reuse` allows,
/// and data that became steady to data that did not.
pub(in crate::prepare) fn best_match<'a, T>(
    all: &'a [T],
    prepared: impl Fn(&T) -> &PreparedData,
    experiment: &Experiment,
    primary: &ExperimentWorkload,
    reuse: bool,
) -> Option<&'a T> {
    let seed = worker_seed(experiment.seed, 0);
    let matches = |one: &&T, reuse: bool| {
        prepared(one).workload == primary.name && serves(prepared(one), experiment, primary, seed, reuse)
    };
    let first = |reuse: bool| {
        let matching = all.iter().filter(|one| matches(one, reuse));
        matching.min_by_key(|one| prepared(one).settled.is_some_and(|settled| !settled.steady))
    };
    first(false).or_else(|| if reuse { first(true) } else { None })
}

/// Whether a run of `experiment` starts from the data `prepared`.
fn serves(
    prepared: &PreparedData,
    experiment: &Experiment,
    workload: &ExperimentWorkload,
    seed: u64,
    reuse: bool,
) -> bool {
    let max_time = experiment.prepare.settle.filter(|_| experiment.is_primary(workload));
    prepared.serves(&workload.settings, seed, reuse)
        && max_time.is_none_or(|max_time| prepared.has_settled(&workload.settings, max_time))
}

/// The data that the step for the workload `name` prepares.
fn prepared_by_step(experiment: &Experiment, name: &str) -> Option<PreparedData> {
    let (index, workload) = experiment.workload(name)?;
    let seed = worker_seed(experiment.seed, index);
    Some(PreparedData {
        workload: workload.name.clone(),
        settings: serde_json::to_value(&workload.settings).ok()?,
        fingerprint: workload.settings.fingerprint(),
        seed,
        marker: workload.settings.marker(seed).map(|marker| DatabaseManifest { loaded: true, ..marker }),
        rewritten: is_rewritten(experiment, workload),
        settled: experiment.prepare.settle.map(|_| SettleResult { steady: true, seconds: 0.0 }),
        ended: true,
    })
}
