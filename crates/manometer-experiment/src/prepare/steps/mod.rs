//! What has to be done before a run can be measured, decided from what is there.

mod found;
mod step;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use manometer_workload::files;
use manometer_workload::kv::KvPlan;
use manometer_workload::settings::WorkloadSettings;

pub use self::found::Found;
pub(super) use self::found::chosen;
pub use self::step::Step;
use super::snapshot::estimated_bytes;
use crate::file::{Experiment, Workload};

fn rewrites(experiment: &Experiment, workload: &Workload) -> bool {
    let is_primary = experiment.primary.as_ref().is_some_and(|primary| primary.name == workload.name);
    experiment.prepare.rewrite_files && !is_primary && matches!(workload.settings, WorkloadSettings::Io(_))
}

/// Whether the data of `workload` can be made ahead of the run that uses them: they outlive their worker, and the
/// run finds them as they were made.
pub(crate) fn can_be_made_ahead(workload: &Workload) -> bool {
    match &workload.settings {
        WorkloadSettings::Io(_) => true,
        WorkloadSettings::Files(files) => files::is_stable(files),
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
        WorkloadSettings::Io(_) | WorkloadSettings::Files(_) | WorkloadSettings::Command(_) => "",
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
