//! Whether the data of a preparation fit into the free space and the write budget.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use manometer_measure::{ByteSize, Directory};
use manometer_workload::kv::KvPlan;
use manometer_workload::settings::WorkloadSettings;

use super::error::PrepareError;
use super::ledger::LedgerEntries;
use super::space::{Space, allocated_bytes};
use super::steps::{DirectoryState, PrepareScope, PrepareStep, created_by_workers};
use super::write_account::WriteBudget;
use crate::definition::{Experiment, ExperimentWorkload, PrepareSettings};

/// Checks that `steps`, and the data that the workers of the run create, fit into the space and the budget.
///
/// # Errors
/// They do not.
pub(super) fn check_before(
    experiment: &Experiment,
    entries: &LedgerEntries,
    (state, steps): (&DirectoryState, &[PrepareStep]),
    scope: PrepareScope,
) -> Result<(), PrepareError> {
    let by_workers: Vec<&ExperimentWorkload> = match scope {
        PrepareScope::Run => created_by_workers(experiment, state, steps).collect(),
        PrepareScope::AllData => Vec::new(),
    };
    if let Some(budget) = WriteBudget::new(experiment.write_budget, entries) {
        let required = certain_bytes(experiment, &by_workers, steps);
        if required > budget.left_bytes() || budget.left_bytes() == 0 {
            let (required, left) = (ByteSize(required), ByteSize(budget.left_bytes()));
            return Err(PrepareError::OverBudget { required, limit: budget.limit, left });
        }
    }
    let is_requested = scope == PrepareScope::AllData || experiment.prepare != PrepareSettings::default();
    let Some(space) = state.space.filter(|_| is_requested) else { return Ok(()) };
    let data_bytes = additional_bytes(experiment, &by_workers, steps);
    space.check(&experiment.directory, data_bytes, experiment.prepare.over_provisioning)
}

/// Checks that the data that the workers of a run create fit into the free space. Compressible data may take less than they
/// count, and do not count.
///
/// # Errors
/// They do not fit.
pub(super) fn check_space(
    experiment: &Experiment,
    state: &DirectoryState,
    steps: &[PrepareStep],
) -> Result<(), PrepareError> {
    let Some(space) = state.space else { return Ok(()) };
    let certain: Vec<&ExperimentWorkload> = created_by_workers(experiment, state, steps)
        .filter(|workload| !is_compressible(experiment, &workload.name))
        .collect();
    space.check(&experiment.directory, additional_bytes(experiment, &certain, &[]), None)
}

fn is_compressible(experiment: &Experiment, name: &str) -> bool {
    let settings = experiment.workload(name).map(|(_, workload)| &workload.settings);
    matches!(settings, Some(WorkloadSettings::Kv(kv)) if KvPlan::new(kv).is_ok_and(|plan| plan.is_compressible()))
}

/// Checks after a step that the over-provisioned share is still free: the size of copies and databases is not known in
/// advance.
///
/// # Errors
/// It is not.
pub(super) fn check_after_step(experiment: &Experiment) -> Result<(), PrepareError> {
    let directory = &experiment.directory;
    let Some(share) = experiment.prepare.over_provisioning else { return Ok(()) };
    // Released blocks are free only once the file system has committed that. Where it cannot, they are not free.
    let _ = Directory::open(directory).and_then(|directory| directory.sync_file_system());
    Space::of(directory).map_or(Ok(()), |space| space.check(directory, 0, Some(share)))
}

/// The bytes that `steps` and the workers of `by_workers` write at least: copies may share blocks, and engines may
/// compress.
fn certain_bytes(experiment: &Experiment, by_workers: &[&ExperimentWorkload], steps: &[PrepareStep]) -> u64 {
    let is_compressible = |name: &str| is_compressible(experiment, name);
    let of_steps = steps.iter().map(|step| match step {
        PrepareStep::Precondition { bytes, .. } => *bytes,
        PrepareStep::Data { workload, bytes, .. } if !is_compressible(workload) => *bytes,
        PrepareStep::Data { .. } | PrepareStep::Snapshot { .. } | PrepareStep::Restore { .. } => 0,
    });
    let of_workers = by_workers.iter().filter(|workload| !is_compressible(&workload.name));
    of_steps.chain(of_workers.map(|workload| workload.settings.bytes_to_prepare())).fold(0, u64::saturating_add)
}

/// The additional space for the data that `steps` and the workers of `by_workers` create, and for copies of them.
fn additional_bytes(experiment: &Experiment, by_workers: &[&ExperimentWorkload], steps: &[PrepareStep]) -> u64 {
    let created = steps.iter().filter_map(|step| match step {
        PrepareStep::Data { workload, bytes, .. } if *bytes > 0 => Some(experiment.workload(workload)?.1),
        _ => None,
    });
    // New data replace those in the folder.
    let growth = |workload: &ExperimentWorkload| {
        let released = released_bytes(&experiment.folder(&workload.name));
        workload.settings.bytes_to_prepare().saturating_sub(released)
    };
    let data = created.chain(by_workers.iter().copied()).map(growth);
    let copies = steps.iter().map(|step| match step {
        PrepareStep::Snapshot { bytes, .. } | PrepareStep::Restore { bytes, .. } => *bytes,
        PrepareStep::Precondition { .. } | PrepareStep::Data { .. } => 0,
    });
    data.chain(copies).fold(0, u64::saturating_add)
}

/// The space that removing `folder` releases: that of files without further hard links.
fn released_bytes(folder: &Path) -> u64 {
    allocated_bytes(folder, &mut |file| file.nlink() == 1)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_with_further_hard_links_release_no_space() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        fs::create_dir_all(one.join("db")).unwrap();
        fs::write(one.join("db/own"), vec![1; 1 << 20]).unwrap();
        fs::write(one.join("db/shared"), vec![1; 1 << 20]).unwrap();
        fs::hard_link(one.join("db/shared"), &two).unwrap();
        fs::File::open(one.join("db/own")).unwrap().sync_all().unwrap();
        fs::File::open(&two).unwrap().sync_all().unwrap();
        let bytes = released_bytes(&one);
        assert!(((1 << 20)..(2 << 20)).contains(&bytes), "{bytes}");
        assert_eq!(released_bytes(&dir.path().join("nothing")), 0);
    }
}
