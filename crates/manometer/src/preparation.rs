//! The steps of a preparation, for `prepare --dry-run` and `run --dry-run`.

use std::fmt::Write as _;
use std::path::Path;

use manometer_experiment::prepare::ledger::LedgerEntries;
use manometer_experiment::prepare::snapshot::{DataSnapshot, snapshots};
use manometer_experiment::prepare::steps::PrepareStep;
use manometer_experiment::prepare::write_account::WriteBudget;
use manometer_measure::ByteSize;
use manometer_measure::human;
use serde_json::{Value, json};

/// The steps in `directory`, the bytes they write, the size of snapshots there, and the rest of the write budgets.
pub fn text(directory: &Path, budgets: &[ByteSize], ledger: &LedgerEntries, steps: &[PrepareStep]) -> String {
    let mut text = String::new();
    let title =
        if steps.is_empty() { "There is nothing to prepare." } else { "Preparation, before anything is measured:" };
    let _ = writeln!(text, "{title}");
    let lines: Vec<String> =
        steps.iter().map(|step| format!("{}: writes {}", step.describe(), human::bytes(step.bytes()))).collect();
    for same in lines.chunk_by(|one, other| one == other) {
        let times = if same.len() > 1 { format!(" ({} times)", same.len()) } else { String::new() };
        let _ = writeln!(text, "  {}{times}", same[0]);
    }
    let kept = snapshots(directory);
    if !kept.is_empty() {
        let bytes = human::bytes(kept.iter().map(DataSnapshot::bytes).sum());
        let number = kept.len();
        let _ = writeln!(text, "Snapshots: {number}, {bytes}; shared blocks count in each.");
    }
    let _ = write!(text, "Written to the device so far: {}; ", human::bytes(ledger.written_bytes()));
    let left = budgets.iter().filter_map(|limit| WriteBudget::new(Some(*limit), ledger));
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

/// The same as JSON; of several budgets the smallest.
pub fn document(directory: &Path, budgets: &[ByteSize], ledger: &LedgerEntries, steps: &[PrepareStep]) -> Value {
    let budget = budgets.iter().copied().min();
    json!({
        "steps": steps,
        "bytes": steps.iter().map(PrepareStep::bytes).sum::<u64>(),
        "snapshots_bytes": snapshots(directory).iter().map(DataSnapshot::bytes).sum::<u64>(),
        "written_bytes": ledger.written_bytes(),
        "budget_bytes": budget.map(|budget| budget.0),
        "budget_left_bytes": WriteBudget::new(budget, ledger).map(|budget| budget.left_bytes()),
    })
}
