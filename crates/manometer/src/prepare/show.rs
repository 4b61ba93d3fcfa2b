//! What a preparation does or did, for people and machines.

use std::fmt::Write as _;
use std::path::Path;

use manometer_experiment::Experiment;
use manometer_experiment::prepare::PreparedRun;
use manometer_experiment::prepare::erase::ErasedDisk;
use manometer_experiment::prepare::ledger::LedgerEntries;
use manometer_experiment::prepare::snapshot::{Snapshot, snapshots};
use manometer_experiment::prepare::steps::PrepareStep;
use manometer_experiment::prepare::write_account::WriteBudget;
use manometer_measure::ByteSize;
use manometer_measure::human;
use serde_json::{Value, json};

/// The steps before runs in `directory`, what they write, what snapshots take there, and what is left of the write
/// budgets.
pub fn outline(directory: &Path, budgets: &[ByteSize], book: &LedgerEntries, steps: &[PrepareStep]) -> String {
    let mut text = String::new();
    let title =
        if steps.is_empty() { "Nothing is to be prepared ahead." } else { "To prepare, before anything is measured:" };
    let _ = writeln!(text, "{title}");
    let lines: Vec<String> =
        steps.iter().map(|step| format!("{}: writes {}", step.describe(), human::bytes(step.bytes()))).collect();
    for same in lines.chunk_by(|one, other| one == other) {
        let times = if same.len() > 1 { format!(" ({} times)", same.len()) } else { String::new() };
        let _ = writeln!(text, "  {}{times}", same[0]);
    }
    let kept = snapshots(directory);
    if !kept.is_empty() {
        let bytes = human::bytes(kept.iter().map(Snapshot::bytes).sum());
        let number = kept.len();
        let _ = writeln!(text, "Snapshots kept: {number}, {bytes}, what they share with one another counted in each.");
    }
    let _ = write!(text, "Written to the device so far: {}; ", human::bytes(book.written_bytes()));
    let left = budgets.iter().filter_map(|limit| WriteBudget::new(Some(*limit), book));
    let left: Vec<String> = left
        .map(|budget| {
            format!("of the budget of {}, {} are left", human::bytes(budget.limit.0), human::bytes(budget.left_bytes()))
        })
        .collect();
    match left.is_empty() {
        true => text.push_str("no `device.write_budget` bounds it."),
        false => text.push_str(&(left.join("; ") + ".")),
    }
    text
}

/// The same for machines; of several budgets the smallest.
pub fn outline_json(directory: &Path, budgets: &[ByteSize], book: &LedgerEntries, steps: &[PrepareStep]) -> Value {
    let budget = budgets.iter().copied().min();
    json!({
        "steps": steps,
        "bytes": steps.iter().map(PrepareStep::bytes).sum::<u64>(),
        "snapshots_bytes": snapshots(directory).iter().map(Snapshot::bytes).sum::<u64>(),
        "written_bytes": book.written_bytes(),
        "budget_bytes": budget.map(|budget| budget.0),
        "budget_left_bytes": WriteBudget::new(budget, book).map(|budget| budget.left_bytes()),
    })
}

/// How a device was divided, and what is left to do.
pub(super) fn erased(device: &Path, erased: &ErasedDisk, experiment: &Experiment) -> String {
    let (partition, place) = (erased.partition.display(), experiment.directory.display());
    format!(
        "{} holds one partition of {}, and {} behind it are discarded and belong to no one.\n\
         Give it a file system, mount it, and prepare:\n  \
         mkfs.ext4 -b 4096 {partition} && mount -o nodiscard,data=ordered {partition} {place}",
        device.display(),
        human::bytes(erased.layout.partition_bytes),
        human::bytes(erased.layout.discarded_bytes),
    )
}

/// What was done, and in which state the device is.
pub(super) fn brought(experiment: &Experiment, brought: &PreparedRun) -> String {
    let mut text = String::new();
    if brought.steps.is_empty() {
        text.push_str("Everything was prepared already.\n");
    }
    for step in &brought.steps {
        let _ = writeln!(text, "done: {}", step.describe());
    }
    for finding in &brought.findings {
        let _ = writeln!(text, "{}: {}", finding.id, finding.text);
    }
    let settled = &brought.device_state["settled"];
    if let Some(seconds) = settled["seconds"].as_f64().filter(|_| settled["steady"] == true) {
        let _ = writeln!(text, "The primary was steady after {seconds:.0} s.");
    }
    if let Some(how) = brought.device_state["over_provisioning"]["how"].as_str() {
        let _ = writeln!(text, "Over-provisioning: {how}.");
    }
    let written = brought.device_state["written_bytes"].as_u64().unwrap_or(0);
    let left = brought.device_state["budget_bytes"].as_u64().map(|limit| human::bytes(limit.saturating_sub(written)));
    let left = left.map_or_else(String::new, |left| format!(", {left} of the budget are left"));
    let _ = write!(
        text,
        "Written to the device from {} so far: {}{left}.",
        experiment.directory.display(),
        human::bytes(written)
    );
    text
}
