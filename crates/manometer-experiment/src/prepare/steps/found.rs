//! What is there already, and what will be once steps and a run were done.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use manometer_target::engine::directory::Marker;
use manometer_workload::io;
use manometer_workload::protocol::Existing;
use manometer_workload::settings::WorkloadSettings;

use super::super::ledger::{Book, Prepared};
use super::super::moves;
use super::super::snapshot::{Snapshot, snapshots};
use super::super::space::Space;
use super::{Step, can_be_made_ahead, folders, rewrites};
use crate::conductor::{existing, seed_of};
use crate::file::{Experiment, Precondition, Workload};
use crate::plan::workloads_in_phases;

/// What lies in a workload's folder, whoever made it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Data {
    Database(Box<Marker>),
    /// The lengths of files.
    Files(Vec<u64>),
}

impl Data {
    fn of(folder: &Path, workload: &Workload) -> Option<Self> {
        match &workload.settings {
            WorkloadSettings::Io(settings) => {
                let length = |path: PathBuf| std::fs::metadata(path).ok().map(|file| file.len());
                io::paths_in(folder, settings).into_iter().map(length).collect::<Option<_>>().map(Self::Files)
            }
            WorkloadSettings::Files(_)
            | WorkloadSettings::Kv(_)
            | WorkloadSettings::Replay(_)
            | WorkloadSettings::Command(_) => Marker::of(folder).map(|marker| Self::Database(Box::new(marker))),
        }
    }

    /// What a workload of `settings` and `seed` leaves in its folder.
    fn wanted(settings: &WorkloadSettings, seed: u64) -> Option<Self> {
        match settings {
            WorkloadSettings::Io(io) => Some(Self::Files(vec![io.bytes_each(); io.files as usize])),
            other => other.marker(seed).map(|marker| Self::Database(Box::new(Marker { loaded: true, ..marker }))),
        }
    }

    /// Whether a worker for `settings` and `seed` that is told `existing` uses it as it is.
    fn is_used(&self, settings: &WorkloadSettings, seed: u64, existing: Existing) -> bool {
        match (existing, self, settings) {
            (Existing::Remake, ..) => false,
            (_, Self::Files(_), _) => Self::wanted(settings, seed).as_ref() == Some(self),
            (_, Self::Database(there), _) => {
                let reuse = existing == Existing::Reuse;
                settings.marker(seed).is_some_and(|wanted| there.serves(&wanted, reuse))
            }
        }
    }
}

/// What is there already.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The preconditioning that holds.
    pub(super) precondition: Option<Precondition>,
    /// Data that were prepared and are as they were then.
    pub(super) prepared: Vec<Prepared>,
    /// Snapshots, and what copying each writes.
    pub(super) snapshots: Vec<(Prepared, u64)>,
    /// What lies in the folders of workloads, by their names.
    pub(super) there: BTreeMap<String, Data>,
    /// Whether what another experiment left may be used, and the folders whose data this command made.
    pub(super) reuse: bool,
    pub(super) made: BTreeSet<PathBuf>,
    /// The space.
    pub(in crate::prepare) space: Option<Space>,
}

impl Found {
    /// What `book` and the directory of `experiment` hold for a command that may `reuse` what others left and `made`
    /// data itself before.
    pub fn of(experiment: &Experiment, book: &Book, reuse: bool, made: &BTreeSet<PathBuf>) -> Self {
        let data = |workload: &Workload| Data::of(&experiment.directory.join(&workload.name), workload);
        let there: BTreeMap<String, Data> =
            experiment.workloads().filter_map(|workload| Some((workload.name.clone(), data(workload)?))).collect();
        let as_it_was = |prepared: &&Prepared| match (there.get(&prepared.workload), &prepared.marker) {
            (Some(Data::Database(there)), Some(then)) => **there == *then,
            (Some(Data::Files(_)), None) => true,
            _ => false,
        };
        let prepared = experiment.workloads().filter_map(|one| book.prepared(&one.name)).filter(as_it_was);
        let kept = |snapshot: Snapshot| {
            let bytes = snapshot.copied_bytes();
            (snapshot.prepared, bytes)
        };
        Self {
            precondition: book.precondition().map(|(kind, ..)| kind),
            prepared: prepared.cloned().collect(),
            snapshots: snapshots(&experiment.directory).into_iter().map(kept).collect(),
            reuse,
            made: made.clone(),
            space: Space::of(&experiment.directory),
            there,
        }
    }

    /// Whether the preconditioning that `experiment` asks for is still to be done.
    pub(in crate::prepare) fn lacks_precondition(&self, experiment: &Experiment) -> bool {
        let kind = experiment.prepare.precondition;
        kind != Precondition::None && self.precondition != Some(kind)
    }

    /// What is there once `steps` and the run of `experiment` were done.
    pub fn after(mut self, experiment: &Experiment, steps: &[Step]) -> Self {
        for step in steps {
            match step {
                Step::Precondition { kind, .. } => self.precondition = Some(*kind),
                Step::Data { workload, .. } => {
                    self.prepared.extend(wanted(experiment, workload));
                    self.brings(experiment, workload);
                }
                Step::Snapshot { workload, bytes } => {
                    self.snapshots.extend(wanted(experiment, workload).map(|one| (one, *bytes)));
                }
                Step::Restore { workload, .. } => self.brings(experiment, workload),
            }
        }
        let used: BTreeSet<PathBuf> = folders(experiment, &self).collect();
        let phases = workloads_in_phases(experiment);
        for (index, workload) in experiment.workloads().enumerate() {
            let (name, seed) = (&workload.name, seed_of(experiment.seed, index));
            let folder = experiment.directory.join(name);
            if !used.contains(&folder) && matches!(workload.settings, WorkloadSettings::Io(_)) {
                self.prepared.retain(|one| one.workload != *name);
            } else if let Some(last) = self.prepared.iter_mut().rev().find(|one| one.workload == *name) {
                last.settled = last.settled.filter(|_| !moves(experiment, workload, last));
            }
            // What a run has changed is no longer what anybody asks for.
            let marker = workload.settings.marker(seed);
            let keeps = |one: &&Workload| can_be_made_ahead(one) && one.settings.marker(seed) == marker;
            let kept = phases.iter().filter(|one| one.name == *name).all(|one| keeps(&one));
            match Data::wanted(&workload.settings, seed).filter(|_| kept) {
                Some(data) => self.there.insert(name.clone(), data),
                None => self.there.remove(name),
            };
            self.made.insert(folder);
        }
        self
    }

    /// Takes in that the data of `name` lie there as they are wanted.
    fn brings(&mut self, experiment: &Experiment, name: &str) {
        let Some((index, workload)) = experiment.workloads().enumerate().find(|(_, one)| one.name == name) else {
            return;
        };
        let data = Data::wanted(&workload.settings, seed_of(experiment.seed, index));
        self.there.extend(data.map(|data| (name.to_owned(), data)));
    }

    /// With what lies there for the workloads of `experiment` that are not among `known`.
    pub fn with_others(mut self, experiment: &Experiment, book: &Book, known: &BTreeSet<String>) -> Self {
        let other = Self::of(experiment, book, self.reuse, &self.made);
        self.there.extend(other.there.into_iter().filter(|(name, _)| !known.contains(name)));
        self.prepared.extend(other.prepared.into_iter().filter(|one| !known.contains(&one.workload)));
        self
    }

    pub(super) fn has_data(&self, experiment: &Experiment, workload: &Workload, index: usize) -> bool {
        let last = self.prepared.iter().rev().find(|one| one.workload == workload.name);
        let seed = seed_of(experiment.seed, index);
        let fits = |one: &Prepared| !rewrites(experiment, workload) || one.rewritten;
        last.is_some_and(|one| fits(one) && serves(one, experiment, workload, seed, self.reuse))
            && self.uses_what_is_there(experiment, workload, index, true)
    }

    /// Whether a worker of `workload` uses what lies in its folder; `prepared`: what lies there was prepared for it.
    pub(super) fn uses_what_is_there(
        &self,
        experiment: &Experiment,
        workload: &Workload,
        index: usize,
        prepared: bool,
    ) -> bool {
        let ours = prepared || self.made.contains(&experiment.directory.join(&workload.name));
        let (existing, seed) = (existing(self.reuse, ours), seed_of(experiment.seed, index));
        self.there.get(&workload.name).is_some_and(|data| data.is_used(&workload.settings, seed, existing))
    }

    /// What making the data of `workload` writes: nothing where what lies in its folder is used.
    pub(super) fn bytes_to_make(&self, experiment: &Experiment, workload: &Workload, index: usize) -> u64 {
        if self.uses_what_is_there(experiment, workload, index, false) {
            return 0;
        }
        workload.settings.bytes_to_prepare()
    }

    pub(super) fn snapshot(&self, experiment: &Experiment, primary: &Workload) -> Option<&(Prepared, u64)> {
        chosen(&self.snapshots, |(one, _)| one, experiment, primary, self.reuse)
    }
}

/// The one of `all` that a run of `experiment` begins with: one that is what it asks for before one that can only stand
/// for it, and one that became steady before one that did not.
pub(in crate::prepare) fn chosen<'a, T>(
    all: &'a [T],
    prepared: impl Fn(&T) -> &Prepared,
    experiment: &Experiment,
    primary: &Workload,
    reuse: bool,
) -> Option<&'a T> {
    let seed = seed_of(experiment.seed, 0);
    let fits = |one: &&T, reuse: bool| {
        prepared(one).workload == primary.name && serves(prepared(one), experiment, primary, seed, reuse)
    };
    let first = |reuse: bool| {
        let fitting = all.iter().filter(|one| fits(one, reuse));
        fitting.min_by_key(|one| prepared(one).settled.is_some_and(|settled| !settled.steady))
    };
    first(false).or_else(|| if reuse { first(true) } else { None })
}

/// Whether a run of `experiment` begins with data that were `prepared`.
fn serves(prepared: &Prepared, experiment: &Experiment, workload: &Workload, seed: u64, reuse: bool) -> bool {
    let is_primary = experiment.primary.as_ref().is_some_and(|primary| primary.name == workload.name);
    let at_most = experiment.prepare.settle.filter(|_| is_primary);
    prepared.serves(&workload.settings, seed, reuse)
        && at_most.is_none_or(|at_most| prepared.has_settled(&workload.settings, at_most))
}

fn wanted(experiment: &Experiment, name: &str) -> Option<Prepared> {
    let (index, workload) = experiment.workloads().enumerate().find(|(_, workload)| workload.name == name)?;
    let seed = seed_of(experiment.seed, index);
    let settled = experiment.prepare.settle.map(|_| crate::prepare::settle::Settled { steady: true, seconds: 0.0 });
    Some(Prepared {
        workload: workload.name.clone(),
        settings: serde_json::to_value(&workload.settings).ok()?,
        fingerprint: workload.settings.fingerprint(),
        seed,
        marker: workload.settings.marker(seed).map(|marker| Marker { loaded: true, ..marker }),
        rewritten: rewrites(experiment, workload),
        settled,
        ended: true,
    })
}
