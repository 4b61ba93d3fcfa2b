//! What has to be done before a run can be measured, decided from what is there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use manometer_measure::ByteSize;
use manometer_target::engine::directory::Marker;
use manometer_workload::io;
use manometer_workload::kv::KvPlan;
use manometer_workload::protocol::Existing;
use manometer_workload::settings::WorkloadSettings;
use serde::Serialize;

use super::ledger::{Book, Prepared};
use super::moves;
use super::snapshot::{Snapshot, estimated_bytes, snapshots};
use super::space::Space;
use crate::conductor::{existing, seed_of};
use crate::file::{Experiment, Precondition, Workload};
use crate::plan::workloads_in_phases;

/// One step of a preparation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// Free space is filled.
    Precondition {
        /// With what.
        kind: Precondition,
        /// How large the file is that fills it.
        file_bytes: u64,
        /// What it writes.
        bytes: u64,
    },
    /// The data of a workload are made; the primary then runs until it is steady.
    Data {
        /// The workload.
        workload: String,
        /// Whether its files are rewritten at random.
        rewrite: bool,
        /// How long it may run to settle, in seconds.
        settle_s: Option<f64>,
        /// What making the data writes, settling aside.
        bytes: u64,
    },
    /// The primary's database is kept.
    Snapshot {
        /// The workload.
        workload: String,
        /// What it writes at most, where files cannot be cloned.
        bytes: u64,
    },
    /// The primary's database is put back as it was kept.
    Restore {
        /// The workload.
        workload: String,
        /// What it writes.
        bytes: u64,
    },
}

impl Step {
    /// What it writes, as far as that is known before.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Precondition { bytes, .. }
            | Self::Data { bytes, .. }
            | Self::Snapshot { bytes, .. }
            | Self::Restore { bytes, .. } => *bytes,
        }
    }

    /// What it does, for people.
    pub fn text(&self) -> String {
        match self {
            Self::Precondition { kind: Precondition::Sequential, file_bytes, .. } => {
                format!("fill {:.0} MiB of free space twice in order", ByteSize(*file_bytes).mib())
            }
            Self::Precondition { file_bytes, .. } => {
                format!("fill {:.0} MiB of free space, then rewrite it at random", ByteSize(*file_bytes).mib())
            }
            Self::Data { workload, rewrite, settle_s, .. } => {
                let rewritten = if *rewrite { ", rewritten at random" } else { "" };
                let settled = settle_s.map(|seconds| format!(", then let it settle for at most {seconds:.0} s"));
                format!("make the data of `{workload}`{rewritten}{}", settled.unwrap_or_default())
            }
            Self::Snapshot { workload, .. } => format!("keep the database of `{workload}` as a snapshot"),
            Self::Restore { workload, .. } => format!("put the database of `{workload}` back as it was kept"),
        }
    }
}

/// What lies in a workload's folder, whoever made it.
#[derive(Debug, Clone, PartialEq)]
enum Data {
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
            WorkloadSettings::Kv(_) | WorkloadSettings::Replay(_) | WorkloadSettings::Command(_) => {
                Marker::of(folder).map(|marker| Self::Database(Box::new(marker)))
            }
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
    precondition: Option<Precondition>,
    /// Data that were prepared and are as they were then.
    prepared: Vec<Prepared>,
    /// Snapshots, and what copying each writes.
    snapshots: Vec<(Prepared, u64)>,
    /// What lies in the folders of workloads, by their names.
    there: BTreeMap<String, Data>,
    /// Whether what another experiment left may be used, and the folders whose data this command made.
    reuse: bool,
    made: BTreeSet<PathBuf>,
    /// The space.
    pub(super) space: Option<Space>,
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
    pub(super) fn lacks_precondition(&self, experiment: &Experiment) -> bool {
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

    fn has_data(&self, experiment: &Experiment, workload: &Workload, index: usize) -> bool {
        let last = self.prepared.iter().rev().find(|one| one.workload == workload.name);
        let seed = seed_of(experiment.seed, index);
        let fits = |one: &Prepared| !rewrites(experiment, workload) || one.rewritten;
        last.is_some_and(|one| fits(one) && serves(one, experiment, workload, seed, self.reuse))
            && self.uses_what_is_there(experiment, workload, index, true)
    }

    /// Whether a worker of `workload` uses what lies in its folder; `prepared`: what lies there was prepared for it.
    fn uses_what_is_there(&self, experiment: &Experiment, workload: &Workload, index: usize, prepared: bool) -> bool {
        let ours = prepared || self.made.contains(&experiment.directory.join(&workload.name));
        let (existing, seed) = (existing(self.reuse, ours), seed_of(experiment.seed, index));
        self.there.get(&workload.name).is_some_and(|data| data.is_used(&workload.settings, seed, existing))
    }

    /// What making the data of `workload` writes: nothing where what lies in its folder is used.
    fn bytes_to_make(&self, experiment: &Experiment, workload: &Workload, index: usize) -> u64 {
        if self.uses_what_is_there(experiment, workload, index, false) {
            return 0;
        }
        workload.settings.bytes_to_prepare()
    }

    fn snapshot(&self, experiment: &Experiment, primary: &Workload) -> Option<&(Prepared, u64)> {
        chosen(&self.snapshots, |(one, _)| one, experiment, primary, self.reuse)
    }
}

/// The one of `all` that a run of `experiment` begins with: one that is what it asks for before one that can only stand
/// for it, and one that became steady before one that did not.
pub(super) fn chosen<'a, T>(
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
    let settled = experiment.prepare.settle.map(|_| super::settle::Settled { steady: true, seconds: 0.0 });
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

fn rewrites(experiment: &Experiment, workload: &Workload) -> bool {
    let is_primary = experiment.primary.as_ref().is_some_and(|primary| primary.name == workload.name);
    experiment.prepare.rewrite_files && !is_primary && matches!(workload.settings, WorkloadSettings::Io(_))
}

/// Whether the data of `workload` can be made ahead of the run that uses them: they outlive their worker, and the
/// run finds them as they were made.
pub(crate) fn can_be_made_ahead(workload: &Workload) -> bool {
    match &workload.settings {
        WorkloadSettings::Io(_) => true,
        WorkloadSettings::Kv(kv) => {
            let stable = KvPlan::new(kv).is_ok_and(|plan| plan.work.unstable().is_none());
            stable && workload.settings.keeps_data()
        }
        // A replay loads what its trace needs each time.
        WorkloadSettings::Replay(_) | WorkloadSettings::Command(_) => false,
    }
}

/// The steps before a run of `experiment`; `whole`: all its data are made ahead, also those that a run would make
/// itself.
pub fn steps(experiment: &Experiment, found: &Found, whole: bool) -> Vec<Step> {
    let mut steps: Vec<Step> = precondition(experiment, found).into_iter().collect();
    // Neighbours' files come first: what the primary settles beside is there then.
    let primaries = usize::from(experiment.primary.is_some());
    let neighbours = experiment.workloads().enumerate().skip(primaries);
    for (index, workload) in neighbours.filter(|(_, workload)| can_be_made_ahead(workload)) {
        let rewrite = rewrites(experiment, workload);
        if (whole || rewrite) && !found.has_data(experiment, workload, index) {
            let rewritten = if rewrite { workload.settings.bytes_to_prepare() } else { 0 };
            let bytes = found.bytes_to_make(experiment, workload, index).saturating_add(rewritten);
            steps.push(Step::Data { workload: workload.name.clone(), rewrite, settle_s: None, bytes });
        }
    }
    let primary = experiment.primary.as_ref().filter(|primary| can_be_made_ahead(primary));
    steps.extend(primary.into_iter().flat_map(|primary| of_primary(experiment, primary, found, whole)));
    steps
}

fn precondition(experiment: &Experiment, found: &Found) -> Option<Step> {
    let kind = experiment.prepare.precondition;
    if !found.lacks_precondition(experiment) {
        return None;
    }
    let file_bytes = found.space?.fill_bytes(experiment.prepare.over_provisioning);
    (file_bytes > 0).then(|| Step::Precondition { kind, file_bytes, bytes: 2 * file_bytes })
}

fn of_primary(experiment: &Experiment, primary: &Workload, found: &Found, whole: bool) -> Vec<Step> {
    let prepare = &experiment.prepare;
    let workload = primary.name.clone();
    if prepare.snapshot
        && let Some((_, bytes)) = found.snapshot(experiment, primary)
    {
        return vec![Step::Restore { workload, bytes: *bytes }];
    }
    if !(whole || prepare.snapshot || prepare.settle.is_some()) {
        return Vec::new();
    }
    let mut steps = Vec::new();
    // What a run has used since is not what a snapshot should keep.
    if prepare.snapshot || !found.has_data(experiment, primary, 0) {
        let settle_s = prepare.settle.map(|settle| settle.seconds());
        let anew = prepare.snapshot && !found.reuse;
        let bytes =
            if anew { primary.settings.bytes_to_prepare() } else { found.bytes_to_make(experiment, primary, 0) };
        steps.push(Step::Data { workload: workload.clone(), rewrite: false, settle_s, bytes });
    }
    if prepare.snapshot {
        let bytes = estimated_bytes(engine(primary), primary.settings.bytes_to_prepare());
        steps.push(Step::Snapshot { workload: workload.clone(), bytes });
        // The first run begins from a copy too, as every later one does.
        if !whole {
            steps.push(Step::Restore { workload, bytes });
        }
    }
    steps
}

/// The engine of a workload; nothing for one without.
pub(super) fn engine(workload: &Workload) -> &str {
    match &workload.settings {
        WorkloadSettings::Kv(kv) => &kv.engine,
        WorkloadSettings::Replay(replay) => &replay.engine,
        WorkloadSettings::Io(_) | WorkloadSettings::Command(_) => "",
    }
}

/// The workloads whose data the workers of the run itself make, after `steps`.
pub(crate) fn left_to_workers<'a>(
    experiment: &'a Experiment,
    found: &Found,
    steps: &[Step],
) -> impl Iterator<Item = &'a Workload> {
    let made = move |name: &str| {
        steps.iter().any(|step| match step {
            Step::Data { workload, .. } | Step::Restore { workload, .. } => workload == name,
            Step::Precondition { .. } | Step::Snapshot { .. } => false,
        })
    };
    let left = experiment.workloads().enumerate().filter(move |(index, workload)| {
        let ahead = can_be_made_ahead(workload) && found.has_data(experiment, workload, *index);
        !made(&workload.name) && !ahead && !found.uses_what_is_there(experiment, workload, *index, false)
    });
    left.map(|(_, workload)| workload)
}

/// The folders whose data were prepared and serve `experiment`.
pub(super) fn folders(experiment: &Experiment, found: &Found) -> impl Iterator<Item = PathBuf> {
    let ahead = experiment
        .workloads()
        .enumerate()
        .filter(|(index, workload)| can_be_made_ahead(workload) && found.has_data(experiment, workload, *index));
    ahead.map(|(_, workload)| experiment.directory.join(&workload.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn experiment(prepare: &str, workload: &str) -> Experiment {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.toml");
        let text = format!(
            "name = \"a test\"\n[device]\ndirectory = \"/var/tmp/manometer-none\"\n[prepare]\n{prepare}\n[primary]\n\
             workload = \"{workload}\"\nrecords = 1000\n[[neighbour]]\nname = \"n\"\nkind = \"io\"\nfile_size = \"1MiB\"\n\
             [plan]\nphase = \"1s\"\n"
        );
        std::fs::write(&path, text).unwrap();
        crate::file::load(&path, &[]).unwrap()
    }

    fn nothing() -> Found {
        let (free_bytes, size_bytes) = (100 * MIB, 200 * MIB);
        let space = Space { free_bytes, size_bytes, device_bytes: None, disk_bytes: None };
        Found {
            precondition: None,
            prepared: Vec::new(),
            snapshots: Vec::new(),
            there: BTreeMap::new(),
            reuse: false,
            made: BTreeSet::new(),
            space: Some(space),
        }
    }

    /// What the workers of a run of `experiment` write to make their data.
    fn left_bytes(experiment: &Experiment, found: &Found) -> u64 {
        left_to_workers(experiment, found, &[]).map(|workload| workload.settings.bytes_to_prepare()).sum()
    }

    /// As `experiment`, with `records` in its primary's database.
    fn of_records(experiment: &Experiment, records: u64) -> Experiment {
        let mut other = experiment.clone();
        let primary = other.primary.as_mut().unwrap();
        primary.settings = primary.settings.with("records", &serde_json::json!(records)).unwrap();
        other
    }

    #[test]
    fn nothing_asked_is_nothing_done_unless_all_is_wanted() {
        let plain = experiment("", "ycsb-b");
        assert_eq!(steps(&plain, &nothing(), false), []);
        let all = steps(&plain, &nothing(), true);
        assert!(matches!(&all[..], [Step::Data { bytes: MIB, .. }, Step::Data { settle_s: None, .. }]), "{all:?}");
        let after = nothing().after(&plain, &all);
        assert_eq!(steps(&plain, &after, true), []);
        assert_eq!(left_bytes(&plain, &after), 0);
        assert!(left_bytes(&plain, &nothing()) > MIB);
    }

    #[test]
    fn data_count_unless_they_are_there_and_may_be_used() {
        let plain = experiment("", "ycsb-b");
        let there = Found { made: BTreeSet::new(), ..nothing().after(&plain, &[]) };
        assert!(left_bytes(&plain, &there) > MIB, "equal ones of another command are made anew");
        let reusing = Found { reuse: true, ..there.clone() };
        assert_eq!(left_bytes(&plain, &reusing), 0);
        let ours = nothing().after(&plain, &[]);
        assert_eq!(left_bytes(&plain, &ours), 0);
        let larger = of_records(&plain, 2000);
        for found in [&reusing, &ours] {
            assert_eq!(left_bytes(&larger, found), larger.primary.as_ref().unwrap().settings.bytes_to_prepare());
        }
    }

    #[test]
    fn space_is_filled_first_and_only_once() {
        let asked = experiment("precondition = \"random\"\nover_provisioning = 0.25", "ycsb-b");
        let first = steps(&asked, &nothing(), false);
        let filled = Step::Precondition { kind: Precondition::Random, file_bytes: 48 * MIB, bytes: 96 * MIB };
        assert_eq!(first, [filled]);
        assert_eq!(steps(&asked, &nothing().after(&asked, &first), false), []);
        let other = experiment("precondition = \"sequential\"", "ycsb-b");
        assert_eq!(steps(&other, &nothing().after(&asked, &first), false).len(), 1);
    }

    #[test]
    fn a_snapshot_is_made_once_and_every_later_run_begins_from_it() {
        let asked = experiment("settle = \"30m\"\nsnapshot = true\nrewrite_files = true", "ycsb-b");
        let first = steps(&asked, &nothing(), false);
        let kinds = [
            matches!(first[0], Step::Data { rewrite: true, bytes, .. } if bytes == 2 * MIB),
            matches!(first[1], Step::Data { settle_s: Some(1800.0), .. }),
            matches!(first[2], Step::Snapshot { bytes: 0, .. }),
            matches!(first[3], Step::Restore { bytes: 0, .. }),
        ];
        assert_eq!((kinds, first.len()), ([true; 4], 4), "{first:?}");
        let again = steps(&asked, &nothing().after(&asked, &first), false);
        assert!(matches!(again[..], [Step::Restore { .. }]), "{again:?}");
        let found = nothing().after(&asked, &first);
        assert_eq!(steps(&of_records(&asked, 2000), &found, false).len(), 3, "other data");
    }

    #[test]
    fn what_settled_under_another_workload_settles_again() {
        let reads = experiment("settle = \"30m\"\nsnapshot = true", "ycsb-b");
        let writes = experiment("settle = \"30m\"\nsnapshot = true", "ycsb-a");
        let found = nothing().after(&reads, &steps(&reads, &nothing(), false));
        assert!(matches!(steps(&writes, &found, false)[..], [Step::Data { settle_s: Some(_), .. }, ..]));
        let loaded = experiment("snapshot = true", "ycsb-a");
        assert!(matches!(steps(&loaded, &found, false)[..], [Step::Restore { .. }]), "the data are the same");
    }

    #[test]
    fn what_did_not_settle_serves_until_more_time_is_allowed() {
        let asked = experiment("settle = \"30m\"\nsnapshot = true", "ycsb-b");
        let mut found = nothing().after(&asked, &steps(&asked, &nothing(), false));
        let unsteady = super::super::settle::Settled { steady: false, seconds: 1800.5 };
        found.snapshots[0].0.settled = Some(unsteady);
        found.prepared.iter_mut().for_each(|one| one.settled = Some(unsteady));
        assert!(matches!(steps(&asked, &found, false)[..], [Step::Restore { .. }]));
        let longer = experiment("settle = \"45m\"\nsnapshot = true", "ycsb-b");
        let again = steps(&longer, &found, false);
        assert!(matches!(again[..], [Step::Data { .. }, Step::Snapshot { .. }, Step::Restore { .. }]), "{again:?}");
        let steady = Found { snapshots: vec![], ..found.clone() }.after(&longer, &again).snapshots;
        found.snapshots.extend(steady);
        let primary = asked.primary.as_ref().unwrap();
        let first = found.snapshot(&asked, primary).unwrap();
        assert!(first.0.settled.unwrap().steady, "of two the one that became steady");
        let unsettled = experiment("settle = \"45m\"", "ycsb-b");
        assert_eq!(steps(&unsettled, &found, false).len(), 1);
    }

    #[test]
    fn only_with_reuse_another_seed_serves() {
        let asked = experiment("snapshot = true", "ycsb-b");
        let found = nothing().after(&asked, &steps(&asked, &nothing(), false));
        let seeded = Experiment { seed: 2, ..asked.clone() };
        assert!(matches!(steps(&seeded, &found, false)[0], Step::Data { .. }));
        let found = Found { reuse: true, ..found };
        assert!(matches!(steps(&seeded, &found, false)[..], [Step::Restore { .. }]));
    }

    #[test]
    fn what_a_run_would_not_find_as_it_was_made_is_left_to_the_run() {
        let inserting = experiment("", "ycsb-d");
        let all = steps(&inserting, &nothing(), true);
        assert!(matches!(&all[..], [Step::Data { workload, .. }] if workload == "n"), "{all:?}");
    }

    #[test]
    fn what_was_settled_is_asked_only_where_settling_is() {
        let plain = experiment("", "ycsb-b");
        let found = nothing().after(&plain, &steps(&plain, &nothing(), true));
        let settling = experiment("settle = \"10m\"", "ycsb-b");
        assert_eq!(steps(&settling, &found, false).len(), 1);
    }
}
