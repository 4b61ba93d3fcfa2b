//! Decides the steps of a preparation from the state of the device directory. Performing them is left to
//! [`super::executor`].

mod directory_state;
mod prepare_step;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use manometer_workload::files;
use manometer_workload::kv::KvPlan;
use manometer_workload::settings::WorkloadSettings;

pub use self::directory_state::DirectoryState;
pub(super) use self::directory_state::best_match;
pub use self::prepare_step::PrepareStep;
use super::ledger::PreparedData;
use super::snapshot::estimated_bytes;
use crate::definition::{Experiment, ExperimentWorkload};
use crate::plan::plan;

/// Which data are created ahead of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrepareScope {
    /// Only what the workers of the run do not create themselves.
    Run,
    /// All data that can be created ahead.
    AllData,
}

/// Whether the files of `workload` are rewritten with random writes.
fn is_rewritten(experiment: &Experiment, workload: &ExperimentWorkload) -> bool {
    let has_files = matches!(workload.settings, WorkloadSettings::Io(_));
    experiment.prepare.rewrite_files && has_files && !experiment.is_primary(workload)
}

/// Whether the data of `workload` can be created ahead of the run that uses them: they outlive their worker, and the run
/// does not change them.
pub(crate) fn can_be_created_ahead(workload: &ExperimentWorkload) -> bool {
    match &workload.settings {
        WorkloadSettings::Io(_) | WorkloadSettings::Paths(_) => true,
        WorkloadSettings::Files(files) => files::is_stable(files),
        WorkloadSettings::Kv(kv) => {
            let stable = KvPlan::new(kv).is_ok_and(|plan| plan.spec.unstable().is_none());
            stable && workload.settings.keeps_data()
        }
        // A replay loads the keys of its trace each time.
        WorkloadSettings::Replay(_) | WorkloadSettings::Command(_) => false,
    }
}

/// The steps before a run of `experiment`, in a directory in `state`.
pub fn plan_steps(experiment: &Experiment, state: &DirectoryState, scope: PrepareScope) -> Vec<PrepareStep> {
    let mut steps: Vec<PrepareStep> = precondition_step(experiment, state).into_iter().collect();
    // The neighbours' files come first: the primary settles with them on the device.
    let primaries = usize::from(experiment.primary.is_some());
    let neighbours = experiment.workloads().enumerate().skip(primaries);
    for (index, workload) in neighbours.filter(|(_, workload)| can_be_created_ahead(workload)) {
        let rewrite = is_rewritten(experiment, workload);
        let is_needed = scope == PrepareScope::AllData || rewrite;
        if is_needed && !state.has_prepared_data(experiment, workload, index) {
            let rewritten = if rewrite { workload.settings.bytes_to_prepare() } else { 0 };
            let bytes = state.bytes_to_create(experiment, workload, index).saturating_add(rewritten);
            steps.push(PrepareStep::Data { workload: workload.name.clone(), rewrite, settle_s: None, bytes });
        }
    }
    let primary = experiment.primary.as_ref().filter(|primary| can_be_created_ahead(primary));
    steps.extend(primary.into_iter().flat_map(|primary| primary_steps(experiment, primary, state, scope)));
    steps
}

fn precondition_step(experiment: &Experiment, state: &DirectoryState) -> Option<PrepareStep> {
    let kind = experiment.prepare.precondition;
    if !state.lacks_precondition(experiment) {
        return None;
    }
    let file_bytes = state.space?.fill_bytes(experiment.prepare.over_provisioning);
    (file_bytes > 0).then(|| PrepareStep::Precondition { kind, file_bytes, bytes: 2 * file_bytes })
}

fn primary_steps(
    experiment: &Experiment,
    primary: &ExperimentWorkload,
    state: &DirectoryState,
    scope: PrepareScope,
) -> Vec<PrepareStep> {
    let prepare = &experiment.prepare;
    let workload = primary.name.clone();
    if prepare.snapshot
        && let Some((_, bytes)) = state.best_snapshot(experiment, primary)
    {
        return vec![PrepareStep::Restore { workload, bytes: *bytes }];
    }
    if !(scope == PrepareScope::AllData || prepare.snapshot || prepare.settle.is_some()) {
        return Vec::new();
    }
    let mut steps = Vec::new();
    // A snapshot must not contain data that a run has used since.
    if prepare.snapshot || !state.has_prepared_data(experiment, primary, 0) {
        let settle_s = prepare.settle.map(|settle| settle.seconds());
        let is_loaded_again = prepare.snapshot && !state.reuse;
        let bytes = match is_loaded_again {
            true => primary.settings.bytes_to_prepare(),
            false => state.bytes_to_create(experiment, primary, 0),
        };
        steps.push(PrepareStep::Data { workload: workload.clone(), rewrite: false, settle_s, bytes });
    }
    if prepare.snapshot {
        let bytes = estimated_bytes(engine_of(primary), primary.settings.bytes_to_prepare());
        steps.push(PrepareStep::Snapshot { workload: workload.clone(), bytes });
        // The first run starts from a copy, as every later one does.
        if scope == PrepareScope::Run {
            steps.push(PrepareStep::Restore { workload, bytes });
        }
    }
    steps
}

/// The engine of a workload; empty for one without.
pub(super) fn engine_of(workload: &ExperimentWorkload) -> &str {
    match &workload.settings {
        WorkloadSettings::Kv(kv) => &kv.engine,
        WorkloadSettings::Replay(replay) => &replay.engine,
        WorkloadSettings::Io(_)
        | WorkloadSettings::Files(_)
        | WorkloadSettings::Paths(_)
        | WorkloadSettings::Command(_) => "",
    }
}

/// The workloads whose data the workers of the run create, after `steps`.
pub(crate) fn created_by_workers<'a>(
    experiment: &'a Experiment,
    state: &DirectoryState,
    steps: &[PrepareStep],
) -> impl Iterator<Item = &'a ExperimentWorkload> {
    let is_prepared = move |name: &str| {
        steps.iter().any(|step| match step {
            PrepareStep::Data { workload, .. } | PrepareStep::Restore { workload, .. } => workload == name,
            PrepareStep::Precondition { .. } | PrepareStep::Snapshot { .. } => false,
        })
    };
    let left = experiment.workloads().enumerate().filter(move |(index, workload)| {
        let was_prepared = can_be_created_ahead(workload) && state.has_prepared_data(experiment, workload, *index);
        !is_prepared(&workload.name) && !was_prepared && !state.uses_existing_data(experiment, workload, *index, false)
    });
    left.map(|(_, workload)| workload)
}

/// The folders with prepared data for `experiment`.
pub(super) fn prepared_folders(experiment: &Experiment, state: &DirectoryState) -> impl Iterator<Item = PathBuf> {
    let prepared = experiment.workloads().enumerate().filter(|(index, workload)| {
        can_be_created_ahead(workload) && state.has_prepared_data(experiment, workload, *index)
    });
    prepared.map(|(_, workload)| experiment.folder(&workload.name))
}

/// Whether a run of `experiment` sends other requests than those under which the data of `workload` settled.
pub(super) fn changes_requests(experiment: &Experiment, workload: &ExperimentWorkload, settled: &PreparedData) -> bool {
    let in_phases = plan(experiment).phases.iter().any(|phase| !workload.settings_in(phase).is_empty());
    in_phases || settled.fingerprint != workload.settings.fingerprint()
}
