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
use serde_json::{Value, json};

use crate::table;

/// The steps before a run, what they write, and what is left of the write budget.
pub fn outline(experiment: &Experiment, book: &Book, steps: &[Step]) -> String {
    let mut text = String::new();
    let title =
        if steps.is_empty() { "Nothing is to be prepared ahead." } else { "To prepare, before anything is measured:" };
    let _ = writeln!(text, "{title}");
    for step in steps {
        let _ = writeln!(text, "  {}: writes {}", step.text(), table::bytes(step.bytes()));
    }
    let kept = snapshots(&experiment.directory);
    if !kept.is_empty() {
        let bytes = table::bytes(kept.iter().map(Snapshot::bytes).sum());
        let number = kept.len();
        let _ = writeln!(text, "Snapshots kept: {number}, {bytes}, what they share with one another counted in each.");
    }
    let before = table::bytes(book.written_bytes());
    match Budget::new(experiment.write_budget, book) {
        Some(budget) => {
            let (limit, left) = (table::bytes(budget.limit.0), table::bytes(budget.left_bytes()));
            let _ = write!(text, "Written to the device so far: {before}; of the budget of {limit}, {left} are left.");
        }
        None => {
            let _ = write!(text, "Written to the device so far: {before}; no `device.write_budget` bounds it.");
        }
    }
    text
}

/// The same for machines.
pub fn outline_json(experiment: &Experiment, book: &Book, steps: &[Step]) -> Value {
    json!({
        "steps": steps,
        "bytes": steps.iter().map(Step::bytes).sum::<u64>(),
        "snapshots_bytes": snapshots(&experiment.directory).iter().map(Snapshot::bytes).sum::<u64>(),
        "written_bytes": book.written_bytes(),
        "budget_bytes": experiment.write_budget.map(|budget| budget.0),
        "budget_left_bytes": Budget::new(experiment.write_budget, book).map(|budget| budget.left_bytes()),
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
