//! The result as text.

use std::fmt::Write as _;
use std::path::Path;

use manometer_experiment::Experiment;
use manometer_experiment::prepare::PreparedRun;
use manometer_experiment::prepare::erase::ErasedDisk;
use manometer_measure::human;

/// The layout of the erased disk, and the next commands.
pub(super) fn erased(device: &Path, erased: &ErasedDisk, experiment: &Experiment) -> String {
    let (partition, place) = (erased.partition.display(), experiment.directory.display());
    format!(
        "{} has one partition of {}; {} behind it are discarded and unallocated.\n\
         Create a file system, mount it, and prepare:\n  \
         mkfs.ext4 -b 4096 {partition} && mount -o nodiscard,data=ordered {partition} {place}",
        device.display(),
        human::bytes(erased.layout.partition_bytes),
        human::bytes(erased.layout.discarded_bytes),
    )
}

/// The steps done, and the state of the device.
pub(super) fn prepared(experiment: &Experiment, prepared: &PreparedRun) -> String {
    let mut text = String::new();
    if prepared.steps.is_empty() {
        text.push_str("Everything was prepared already.\n");
    }
    for step in &prepared.steps {
        let _ = writeln!(text, "done: {}", step.describe());
    }
    for finding in &prepared.findings {
        let _ = writeln!(text, "{}: {}", finding.id, finding.text);
    }
    let settled = &prepared.device_state["settled"];
    if let Some(seconds) = settled["seconds"].as_f64().filter(|_| settled["steady"] == true) {
        let _ = writeln!(text, "The primary was in steady state after {seconds:.0} s.");
    }
    if let Some(how) = prepared.device_state["over_provisioning"]["how"].as_str() {
        let _ = writeln!(text, "Over-provisioning: {how}.");
    }
    let written = prepared.device_state["written_bytes"].as_u64().unwrap_or(0);
    let left = prepared.device_state["budget_bytes"].as_u64().map(|limit| human::bytes(limit.saturating_sub(written)));
    let left = left.map_or_else(String::new, |left| format!(", {left} of the budget are left"));
    let _ = write!(
        text,
        "Written to the device from {} so far: {}{left}.",
        experiment.directory.display(),
        human::bytes(written)
    );
    text
}
