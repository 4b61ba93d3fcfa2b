//! What has to be done before a run can be measured, decided from what is there.

use std::path::PathBuf;

use manometer_measure::ByteSize;
use manometer_workload::kv::KvPlan;
use manometer_workload::settings::WorkloadSettings;
use serde::Serialize;

use super::ledger::{Book, Prepared};
use super::snapshot::{Snapshot, estimated_bytes, snapshots};
use super::space::Space;
use crate::conductor::seed_of;
use crate::file::{Experiment, Precondition, Workload};

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

/// What is there already.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The preconditioning that holds.
    precondition: Option<Precondition>,
    /// Data that were prepared and are where they belong.
    prepared: Vec<Prepared>,
    /// Snapshots, and what copying each writes.
    snapshots: Vec<(Prepared, u64)>,
    /// The space.
    pub(super) space: Option<Space>,
}

impl Found {
    /// What `book` and the directory of `experiment` hold.
    pub fn of(experiment: &Experiment, book: &Book) -> Self {
        let there = |workload: &Workload| {
            let folder = experiment.directory.join(&workload.name);
            let sign = match workload.settings {
                WorkloadSettings::Io(_) => "0.data",
                WorkloadSettings::Kv(_) | WorkloadSettings::Command(_) => "manometer.json",
            };
            book.prepared(&workload.name).filter(|_| folder.join(sign).exists()).cloned()
        };
        let kept = |snapshot: Snapshot| (snapshot.copied_bytes(), snapshot.prepared);
        Self {
            precondition: book.precondition().map(|(kind, ..)| kind),
            prepared: experiment.workloads().filter_map(there).collect(),
            snapshots: snapshots(&experiment.directory)
                .into_iter()
                .map(kept)
                .map(|(bytes, one)| (one, bytes))
                .collect(),
            space: Space::of(&experiment.directory),
        }
    }

    /// What is there once `steps` were done for `experiment`.
    pub fn after(mut self, experiment: &Experiment, steps: &[Step]) -> Self {
        for step in steps {
            match step {
                Step::Precondition { kind, .. } => self.precondition = Some(*kind),
                Step::Data { workload, .. } => self.prepared.extend(wanted(experiment, workload)),
                Step::Snapshot { workload, bytes } => {
                    self.snapshots.extend(wanted(experiment, workload).map(|one| (one, *bytes)));
                }
                Step::Restore { .. } => {}
            }
        }
        self
    }

    fn has_data(&self, experiment: &Experiment, workload: &Workload, index: usize) -> bool {
        let prepare = &experiment.prepare;
        let is_primary = experiment.primary.as_ref().is_some_and(|primary| primary.name == workload.name);
        let last = self.prepared.iter().rev().find(|one| one.workload == workload.name);
        last.is_some_and(|one| {
            one.serves(&workload.settings, seed_of(experiment.seed, index))
                && (!rewrites(experiment, workload) || one.rewritten)
                && (!is_primary || prepare.settle.is_none() || one.settled.is_some())
        })
    }

    fn snapshot(&self, experiment: &Experiment, workload: &Workload, index: usize) -> Option<&(Prepared, u64)> {
        let seed = seed_of(experiment.seed, index);
        self.snapshots.iter().find(|(one, _)| snapshot_serves(one, experiment, workload, seed))
    }
}

/// Whether a snapshot of `prepared` is what a run of `experiment` begins with.
pub(super) fn snapshot_serves(prepared: &Prepared, experiment: &Experiment, workload: &Workload, seed: u64) -> bool {
    prepared.workload == workload.name
        && prepared.serves(&workload.settings, seed)
        && (experiment.prepare.settle.is_none() || prepared.settled.is_some())
}

fn wanted(experiment: &Experiment, name: &str) -> Option<Prepared> {
    let (index, workload) = experiment.workloads().enumerate().find(|(_, workload)| workload.name == name)?;
    Some(Prepared {
        workload: workload.name.clone(),
        settings: serde_json::to_value(&workload.settings).ok()?,
        seed: seed_of(experiment.seed, index),
        rewritten: rewrites(experiment, workload),
        settled: experiment.prepare.settle.map(|_| super::settle::Settled { steady: true, seconds: 0.0 }),
        ended: true,
    })
}

fn rewrites(experiment: &Experiment, workload: &Workload) -> bool {
    let is_primary = experiment.primary.as_ref().is_some_and(|primary| primary.name == workload.name);
    experiment.prepare.rewrite_files && !is_primary && matches!(workload.settings, WorkloadSettings::Io(_))
}

/// Whether the data of `workload` can be made ahead of the run that uses them: they outlive their worker, and the
/// run finds them as they were made.
pub(super) fn can_be_made_ahead(workload: &Workload) -> bool {
    match &workload.settings {
        WorkloadSettings::Io(_) => true,
        WorkloadSettings::Kv(kv) => {
            let stable = KvPlan::new(kv).is_ok_and(|plan| plan.work.unstable().is_none());
            stable && workload.settings.keeps_data()
        }
        WorkloadSettings::Command(_) => false,
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
            let times = if rewrite { 2 } else { 1 };
            let bytes = workload.settings.bytes_to_prepare().saturating_mul(times);
            steps.push(Step::Data { workload: workload.name.clone(), rewrite, settle_s: None, bytes });
        }
    }
    let primary = experiment.primary.as_ref().filter(|primary| can_be_made_ahead(primary));
    steps.extend(primary.into_iter().flat_map(|primary| of_primary(experiment, primary, found, whole)));
    steps
}

fn precondition(experiment: &Experiment, found: &Found) -> Option<Step> {
    let kind = experiment.prepare.precondition;
    if kind == Precondition::None || found.precondition == Some(kind) {
        return None;
    }
    let file_bytes = found.space?.fill_bytes(experiment.prepare.over_provisioning);
    (file_bytes > 0).then(|| Step::Precondition { kind, file_bytes, bytes: 2 * file_bytes })
}

fn of_primary(experiment: &Experiment, primary: &Workload, found: &Found, whole: bool) -> Vec<Step> {
    let prepare = &experiment.prepare;
    let workload = primary.name.clone();
    if prepare.snapshot
        && let Some((_, bytes)) = found.snapshot(experiment, primary, 0)
    {
        return vec![Step::Restore { workload, bytes: *bytes }];
    }
    if !(whole || prepare.snapshot || prepare.settle.is_some()) {
        return Vec::new();
    }
    let mut steps = Vec::new();
    let bytes = primary.settings.bytes_to_prepare();
    // What a run has used since is not what a snapshot should keep.
    if prepare.snapshot || !found.has_data(experiment, primary, 0) {
        let settle_s = prepare.settle.map(|settle| settle.seconds());
        steps.push(Step::Data { workload: workload.clone(), rewrite: false, settle_s, bytes });
    }
    if prepare.snapshot {
        steps.push(Step::Snapshot { workload, bytes: estimated_bytes(engine(primary), bytes) });
    }
    steps
}

/// The engine of a workload; nothing for one without.
pub(super) fn engine(workload: &Workload) -> &str {
    match &workload.settings {
        WorkloadSettings::Kv(kv) => &kv.engine,
        WorkloadSettings::Io(_) | WorkloadSettings::Command(_) => "",
    }
}

/// The bytes that the workers of the run itself write to make their data, after `steps`.
pub fn left_to_workers(
    experiment: &Experiment,
    found: &Found,
    steps: &[Step],
    has_data: impl Fn(&PathBuf) -> bool,
) -> u64 {
    let made = |name: &str| {
        steps.iter().any(|step| match step {
            Step::Data { workload, .. } | Step::Restore { workload, .. } => workload == name,
            Step::Precondition { .. } | Step::Snapshot { .. } => false,
        })
    };
    let left = experiment.workloads().enumerate().filter(|(index, workload)| {
        let folder = experiment.directory.join(&workload.name);
        let ahead = can_be_made_ahead(workload) && found.has_data(experiment, workload, *index);
        !made(&workload.name) && !ahead && !has_data(&folder)
    });
    left.map(|(_, workload)| workload.settings.bytes_to_prepare()).fold(0, u64::saturating_add)
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
        Found { precondition: None, prepared: Vec::new(), snapshots: Vec::new(), space: Some(space) }
    }

    #[test]
    fn nothing_asked_is_nothing_done_unless_all_is_wanted() {
        let plain = experiment("", "ycsb-b");
        assert_eq!(steps(&plain, &nothing(), false), []);
        let all = steps(&plain, &nothing(), true);
        assert!(matches!(&all[..], [Step::Data { bytes: MIB, .. }, Step::Data { settle_s: None, .. }]), "{all:?}");
        let after = nothing().after(&plain, &all);
        assert_eq!(steps(&plain, &after, true), []);
        assert_eq!(left_to_workers(&plain, &after, &[], |_| false), 0);
        assert!(left_to_workers(&plain, &nothing(), &[], |_| false) > MIB);
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
        ];
        assert_eq!((kinds, first.len()), ([true; 3], 3), "{first:?}");
        let again = steps(&asked, &nothing().after(&asked, &first), false);
        assert!(matches!(again[..], [Step::Restore { .. }]), "{again:?}");
        // The same data for another mix of reads and updates; other data for other records.
        let found = nothing().after(&asked, &first);
        let writes_more = experiment("settle = \"30m\"\nsnapshot = true", "ycsb-a");
        assert!(matches!(steps(&writes_more, &found, false)[..], [Step::Restore { .. }]));
        let mut larger = asked.clone();
        let primary = larger.primary.as_mut().unwrap();
        primary.settings = primary.settings.with("records", &serde_json::json!(2000)).unwrap();
        assert_eq!(steps(&larger, &found, false).len(), 2);
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
