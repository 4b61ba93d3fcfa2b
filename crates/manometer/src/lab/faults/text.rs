//! The table of the trials.

use std::collections::BTreeMap;

use manometer_cache::tier::WriteMode;
use manometer_lab::fault_trials::FaultOutcome;
use manometer_lab::faults::{Fault, Stage};
use serde::Serialize;

use crate::lab::mode_name;
use crate::table::table;

/// One trial.
#[derive(Debug, Serialize)]
pub(super) struct TrialResult {
    pub(super) arrangement: String,
    pub(super) mode: Option<WriteMode>,
    pub(super) engine: String,
    pub(super) fault: Fault,
    pub(super) seed: u64,
    #[serde(flatten)]
    pub(super) outcome: Option<FaultOutcome>,
    /// Why the trial has none.
    pub(super) error: Option<String>,
}

impl TrialResult {
    /// What came of the trial, in a line.
    pub(super) fn text(&self) -> String {
        let mode = self.mode.map(|mode| format!(" {}", mode_name(mode))).unwrap_or_default();
        let came = match (&self.outcome, &self.error) {
            (Some(FaultOutcome { found, .. }), _) => format!("{} of {} keys lost", found.lost, found.keys),
            (None, error) => format!("not run: {}", error.as_deref().unwrap_or_default()),
        };
        format!("{}{mode}, {}, {}, seed {}: {came}", self.arrangement, self.engine, self.fault.name(), self.seed)
    }
}

/// How likely that many trials without a loss may be at the bound.
const CHANCE: f64 = 0.05;

/// The trials of one arrangement, engine and fault.
#[derive(Default)]
struct Cell {
    trials: u64,
    writes: u64,
    keys: u64,
    lost: u64,
    lost_writes: u64,
    wrong: u64,
    went_on: u64,
    damaged: u64,
    failed: Vec<Stage>,
}

pub(super) fn text(rows: &[TrialResult]) -> String {
    let head = [
        "arrangement",
        "mode",
        "engine",
        "fault",
        "trials",
        "writes",
        "keys",
        "lost",
        "lost writes",
        "wrong",
        "went on",
        "fs damaged",
        "ended at",
    ];
    let mut cells: BTreeMap<usize, Cell> = BTreeMap::new();
    let first = |row: &TrialResult| rows.iter().position(|other| same_cell(row, other)).unwrap_or_default();
    for row in rows {
        let cell = cells.entry(first(row)).or_default();
        let Some(FaultOutcome { written, found, .. }) = &row.outcome else { continue };
        cell.trials += 1;
        (cell.keys, cell.lost, cell.wrong) = (cell.keys + found.keys, cell.lost + found.lost, cell.wrong + found.wrong);
        cell.went_on += u64::from(written.went_on);
        cell.damaged += u64::from(found.damaged);
        cell.writes += written.acknowledged_before + written.acknowledged_after;
        cell.lost_writes += found.lost_writes;
        cell.failed.extend(found.failed.iter().map(|(stage, _)| *stage));
    }
    let mut lines = table(&head, 4);
    for (at, cell) in &cells {
        let row = &rows[*at];
        let is_hardware = matches!(row.fault, Fault::DiskFailure | Fault::CacheLoss);
        let number = |number: u64| if cell.trials == 0 { "–".to_owned() } else { number.to_string() };
        lines.add_row([
            row.arrangement.clone(),
            row.mode.map_or("–", mode_name).to_owned(),
            row.engine.clone(),
            row.fault.name().to_owned(),
            cell.trials.to_string(),
            number(cell.writes),
            number(cell.keys),
            number(cell.lost),
            number(cell.lost_writes),
            number(cell.wrong),
            if is_hardware { number(cell.went_on) } else { "–".to_owned() },
            number(cell.damaged),
            ended_at(&cell.failed),
        ]);
    }
    let release = rows.iter().find_map(|row| Some(row.outcome.as_ref()?.kernel.as_str())).unwrap_or("(no trial ended)");
    format!(
        "{}\n\nThe kernel is Linux {release} in a guest. All figures are sums over the trials: `writes` were acknowledged, to so \
         many `keys`; of the keys, `lost` are missing or older, by so many `lost writes`; `wrong` have a value that was \
         never written, or cannot be read. `went on`: trials in which a quarter of `--writes` was acknowledged after the failure; \
         `fs damaged`: the check of the file system found damage; `ended at`: trials in which the way back ended at the \
         array, at the mount, or as the engine opened.\n{}",
        lines.trim_fmt(),
        cells.values().map(|cell| cell.trials).filter(|trials| *trials > 0).max().map(bound_text).unwrap_or_default()
    )
}

/// How often a fault may cost something although none of `trials` did.
fn bound_text(trials: u64) -> String {
    let bound = 1.0 - CHANCE.powf(1.0 / trials as f64);
    format!(
        "Where nothing was lost in {trials} of {trials} trials, up to {:.0} % of such faults may still lose something \
         (95 % confidence).",
        100.0 * bound
    )
}

fn same_cell(one: &TrialResult, other: &TrialResult) -> bool {
    let key =
        |row: &TrialResult| (row.arrangement.clone(), row.mode.map(mode_name), row.engine.clone(), row.fault.name());
    key(one) == key(other)
}

fn ended_at(failed: &[Stage]) -> String {
    let stages = [(Stage::Assemble, "array"), (Stage::Mount, "mount"), (Stage::Open, "open")];
    let count = |stage| failed.iter().filter(|failed| **failed == stage).count();
    let named: Vec<String> = stages
        .into_iter()
        .filter_map(|(stage, name)| Some(format!("{name} ({})", Some(count(stage)).filter(|count| *count > 0)?)))
        .collect();
    named.join(", ")
}
