//! What a preparation does or did, for people and machines.

use std::fmt::Write as _;
use std::path::Path;

use manometer_experiment::Experiment;
use manometer_experiment::prepare::Brought;
use manometer_experiment::prepare::account::Budget;
use manometer_experiment::prepare::erase::Erased;
use manometer_experiment::prepare::ledger::Book;
use manometer_experiment::prepare::snapshot::{Snapshot, snapshots};
use manometer_experiment::prepare::steps::Step;
use manometer_measure::ByteSize;
use serde_json::{Value, json};

use crate::table;

/// The steps before runs in `directory`, what they write, what snapshots take there, and what is left of the write
/// budgets.
pub fn outline(directory: &Path, budgets: &[ByteSize], book: &Book, steps: &[Step]) -> String {
    let mut text = String::new();
    let title =
        if steps.is_empty() { "Nothing is to be prepared ahead." } else { "To prepare, before anything is measured:" };
    let _ = writeln!(text, "{title}");
    let lines: Vec<String> =
        steps.iter().map(|step| format!("{}: writes {}", step.text(), table::bytes(step.bytes()))).collect();
    for same in lines.chunk_by(|one, other| one == other) {
        let times = if same.len() > 1 { format!(" ({} times)", same.len()) } else { String::new() };
        let _ = writeln!(text, "  {}{times}", same[0]);
    }
    let kept = snapshots(directory);
    if !kept.is_empty() {
        let bytes = table::bytes(kept.iter().map(Snapshot::bytes).sum());
        let number = kept.len();
        let _ = writeln!(text, "Snapshots kept: {number}, {bytes}, what they share with one another counted in each.");
    }
    let _ = write!(text, "Written to the device so far: {}; ", table::bytes(book.written_bytes()));
    let left = budgets.iter().filter_map(|limit| Budget::new(Some(*limit), book));
    let left: Vec<String> = left
        .map(|budget| {
            format!("of the budget of {}, {} are left", table::bytes(budget.limit.0), table::bytes(budget.left_bytes()))
        })
        .collect();
    match left.is_empty() {
        true => text.push_str("no `device.write_budget` bounds it."),
        false => text.push_str(&(left.join("; ") + ".")),
    }
    text
}

/// The same for machines; of several budgets the smallest.
pub fn outline_json(directory: &Path, budgets: &[ByteSize], book: &Book, steps: &[Step]) -> Value {
    let budget = budgets.iter().copied().min();
    json!({
        "steps": steps,
        "bytes": steps.iter().map(Step::bytes).sum::<u64>(),
        "snapshots_bytes": snapshots(directory).iter().map(Snapshot::bytes).sum::<u64>(),
        "written_bytes": book.written_bytes(),
        "budget_bytes": budget.map(|budget| budget.0),
        "budget_left_bytes": Budget::new(budget, book).map(|budget| budget.left_bytes()),
    })
}

/// How a device was divided, and what is left to do.
pub(super) fn erased(device: &Path, erased: &Erased, experiment: &Experiment) -> String {
    let (partition, place) = (erased.partition.display(), experiment.directory.display());
    format!(
        "{} holds one partition of {}, and {} behind it are discarded and belong to no one.\n\
         Give it a file system, mount it, and prepare:\n  \
         mkfs.ext4 -b 4096 {partition} && mount -o nodiscard,data=ordered {partition} {place}",
        device.display(),
        table::bytes(erased.layout.partition_bytes),
        table::bytes(erased.layout.discarded_bytes),
    )
}

/// What was done, and in which state the device is.
pub(super) fn brought(experiment: &Experiment, brought: &Brought) -> String {
    let mut text = String::new();
    if brought.done.is_empty() {
        text.push_str("Everything was prepared already.\n");
    }
    for step in &brought.done {
        let _ = writeln!(text, "done: {}", step.text());
    }
    for finding in &brought.findings {
        let _ = writeln!(text, "{}: {}", finding.id, finding.text);
    }
    let settled = &brought.state["settled"];
    if let Some(seconds) = settled["seconds"].as_f64().filter(|_| settled["steady"] == true) {
        let _ = writeln!(text, "The primary was steady after {seconds:.0} s.");
    }
    if let Some(how) = brought.state["over_provisioning"]["how"].as_str() {
        let _ = writeln!(text, "Over-provisioning: {how}.");
    }
    let written = brought.state["written_bytes"].as_u64().unwrap_or(0);
    let left = brought.state["budget_bytes"].as_u64().map(|limit| table::bytes(limit.saturating_sub(written)));
    let left = left.map_or_else(String::new, |left| format!(", {left} of the budget are left"));
    let _ = write!(
        text,
        "Written to the device from {} so far: {}{left}.",
        experiment.directory.display(),
        table::bytes(written)
    );
    text
}
