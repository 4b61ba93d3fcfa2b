//! Isolation: each workload in its own control group or container, with limits; and the device's I/O scheduler during a
//! run.
//!
//! The requirements of an experiment are checked against the host first ([`unsupported`]). A run then creates its groups
//! and containers ([`RunIsolation`]) and removes them when it ends. A worker is moved into its group before it gets its
//! job, so that all its files are opened inside. The counters of control groups are observed by `manometer-measure`.

mod cgroup;
mod cgroup_files;
mod container;
mod error;
mod host;
mod host_settings;
mod io_priority;
mod placement;
mod run_isolation;
mod unsupported;

pub use error::IsolateError;
use host::HostCapabilities;
use host_settings::HostSettings;
use manometer_measure::Directory;
use manometer_measure::doctor::Cgroups;
pub(crate) use placement::WorkerPlacement;
pub(crate) use run_isolation::RunIsolation;

use crate::definition::{Experiment, ExperimentWorkload, format_settings};
use crate::limits::Isolation;

/// Removes the control groups of killed runs, and restores the host settings that a killed run in the device directory
/// `directory`, whose lock is held, has changed.
pub(crate) fn clean_up(directory: &Directory) -> Result<(), IsolateError> {
    cgroup::remove_leftovers(&Cgroups::read());
    HostSettings::restore_leftovers(directory)
}

/// What `runs` require and this host does not support, each once. Nothing is changed.
pub fn unsupported<'a>(runs: impl Iterator<Item = &'a Experiment>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for run in runs {
        let isolation =
            unsupported::requires_isolation(run).then(|| unsupported::unsupported(run, &HostCapabilities::read(run)));
        for reason in unsupported::other_kernel(run).into_iter().chain(isolation.into_iter().flatten()) {
            if !all.contains(&reason) {
                all.push(reason);
            }
        }
    }
    all
}

/// Describes the isolation of each workload and the device's scheduler, one line each; empty without either.
pub fn describe(experiment: &Experiment) -> Vec<String> {
    if !unsupported::requires_isolation(experiment) {
        return Vec::new();
    }
    let workload = |workload: &ExperimentWorkload| {
        let isolation = match workload.isolation {
            Isolation::None => "none",
            Isolation::Cgroup => "cgroup",
            Isolation::Container => "container",
        };
        let limits = workload.limits.to_map();
        let limits = if limits.is_empty() { String::new() } else { format!("; {}", format_settings(&limits)) };
        format!("{}: {isolation}{limits}", workload.name)
    };
    let scheduler = experiment.scheduler.iter().map(|name| format!("device: scheduler {name}"));
    scheduler.chain(experiment.workloads().map(workload)).collect()
}
