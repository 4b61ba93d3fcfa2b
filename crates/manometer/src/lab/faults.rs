//! `manometer lab faults`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use manometer_cache::tier::WriteMode;
use manometer_lab::fault_trials::{self, FaultOutcome};
use manometer_lab::faults::{ENGINES, Fault, FaultTrial, Stage};
use manometer_lab::guest::GuestMachine;
use manometer_lab::{ArrangementChoice, LabError};
use serde::Serialize;
use serde_json::json;

use super::{GuestArgs, mode_name, mode_named};
use crate::array::refuse;
use crate::exit_status::ExitStatus;
use crate::output::{self, Format};
use crate::process;
use crate::table::table;

/// See what arrangements lose of acknowledged writes when a disk or the cache fails, the kernel crashes, or the power is
/// cut.
///
/// In a guest, an engine writes to each arrangement, with every write synced, until the fault; another guest takes together
/// what is left, repairs the file system where it must, opens the engine and reads every key.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer lab faults --array mine.toml\n  \
    manometer lab faults --array mine.toml --mode write-back,write-through --fault cache-loss --engine rocksdb --repeats 5")]
pub struct Args {
    /// Files of arrangements, as `cache tier` reads them, separated by commas.
    #[arg(long, required = true, value_delimiter = ',', value_name = "FILE")]
    array: Vec<PathBuf>,
    /// Handling of writes by the cache; by default that of the arrangement.
    #[arg(long, value_delimiter = ',', value_parser = mode_named)]
    mode: Vec<WriteMode>,
    /// What fails: `crash`, `power-cut`, `disk-failure`, `cache-loss`; by default each of them.
    #[arg(long, value_delimiter = ',', value_parser = fault_named)]
    fault: Vec<Fault>,
    /// Engines: `rlsm`, `rocksdb`; by default both.
    #[arg(long, value_delimiter = ',', value_parser = engine_named)]
    engine: Vec<String>,
    /// Acknowledge writes that are not synced, for comparison.
    #[arg(long)]
    no_sync: bool,
    /// Acknowledged writes before the fault.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    writes: u64,
    /// Trials of each fault, each with other keys and values.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    repeats: u64,
    /// Seed of the first trial.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    guest: GuestArgs,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// One trial.
#[derive(Debug, Serialize)]
struct Row {
    arrangement: String,
    mode: Option<WriteMode>,
    engine: String,
    fault: Fault,
    seed: u64,
    #[serde(flatten)]
    outcome: Option<FaultOutcome>,
    /// Why the trial has none.
    error: Option<String>,
}

/// Runs the trials.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let machine = args.guest.machine(&std::env::temp_dir());
    let trials = machine.and_then(|machine| Ok((trials(args, &machine)?, machine)));
    let (trials, machine) = match trials {
        Ok(trials) => trials,
        Err(error) => return refuse(error),
    };
    let interrupted = process::interruption()?;
    let mut rows = Vec::new();
    for (number, trial) in trials.iter().enumerate() {
        if interrupted.load(Ordering::Relaxed) {
            output::note(&format!("interrupted: {} of {} trials were not run", trials.len() - number, trials.len()));
            break;
        }
        let row = run_trial(&machine, trial, &interrupted);
        output::note(&format!("{} of {}: {}", number + 1, trials.len(), row.text()));
        rows.push(row);
    }
    args.format.print(|| json!({ "faults": rows }), || text(&rows))?;
    let is_whole = rows.len() == trials.len() && rows.iter().all(|row| row.outcome.is_some());
    Ok(if is_whole { ExitStatus::Done } else { ExitStatus::Failed })
}

fn run_trial(machine: &GuestMachine, (arrangement, mode, trial): &NamedTrial, interrupted: &AtomicBool) -> Row {
    let (outcome, error) = match fault_trials::run_trial(machine, trial, interrupted) {
        Ok(outcome) => (Some(outcome), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let (arrangement, engine) = (arrangement.clone(), trial.engine.clone());
    Row { arrangement, mode: *mode, engine, fault: trial.fault, seed: trial.seed, outcome, error }
}

impl Row {
    /// What came of the trial, in a line.
    fn text(&self) -> String {
        let mode = self.mode.map(|mode| format!(" {}", mode_name(mode))).unwrap_or_default();
        let came = match (&self.outcome, &self.error) {
            (Some(FaultOutcome { found, .. }), _) => format!("{} of {} keys lost", found.lost, found.keys),
            (None, error) => format!("not run: {}", error.as_deref().unwrap_or_default()),
        };
        format!("{}{mode}, {}, {}, seed {}: {came}", self.arrangement, self.engine, self.fault.name(), self.seed)
    }
}

/// A trial, with the names of its arrangement and of the cache's mode.
type NamedTrial = (String, Option<WriteMode>, FaultTrial);

/// Each arrangement in each mode, with each engine and each fault that it can have.
fn trials(args: &Args, machine: &GuestMachine) -> Result<Vec<NamedTrial>, LabError> {
    let engines: Vec<String> = match args.engine.as_slice() {
        [] => ENGINES.map(|(name, _)| name.to_owned()).to_vec(),
        engines => engines.to_vec(),
    };
    let faults = if args.fault.is_empty() { &Fault::ALL[..] } else { &args.fault };
    let mut trials = Vec::new();
    for file in &args.array {
        let arrangement = std::path::absolute(file).map_err(|error| LabError::Refused(error.to_string()))?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for mode in modes(args, &arrangement)? {
            let array = ArrangementChoice { file: arrangement.clone(), sizes: None, mode };
            for engine in &engines {
                for fault in faults.iter().filter(|fault| **fault != Fault::CacheLoss || mode.is_some()) {
                    for seed in args.seed..args.seed.saturating_add(args.repeats) {
                        let (engine, ledger) = (engine.clone(), machine.shared("ledger"));
                        let (array, writes) = (array.clone(), args.writes);
                        let trial =
                            FaultTrial { array, engine, sync: !args.no_sync, fault: *fault, writes, seed, ledger };
                        trials.push((name.clone(), mode, trial));
                    }
                }
            }
        }
    }
    match trials.is_empty() {
        true => Err(LabError::Refused("no arrangement has a `[cache]` to lose".to_owned())),
        false => Ok(trials),
    }
}

/// The ways in which the cache of an arrangement is to handle writes; one of none without a cache.
fn modes(args: &Args, file: &Path) -> Result<Vec<Option<WriteMode>>, LabError> {
    let own = ArrangementChoice { file: file.to_owned(), sizes: None, mode: None };
    let arrangement = own.load()?;
    fault_trials::check(&arrangement)?;
    Ok(match (arrangement.cache, args.mode.as_slice()) {
        (None, _) => vec![None],
        (Some(cache), []) => vec![Some(cache.mode)],
        (Some(_), modes) => modes.iter().copied().map(Some).collect(),
    })
}

fn fault_named(text: &str) -> Result<Fault, String> {
    let fault = Fault::ALL.into_iter().find(|fault| fault.name() == text);
    fault.ok_or_else(|| format!("take one of {}", Fault::ALL.map(Fault::name).join(", ")))
}

fn engine_named(text: &str) -> Result<String, String> {
    match ENGINES.iter().any(|(name, _)| *name == text) {
        true => Ok(text.to_owned()),
        false => Err(format!("take one of {}", ENGINES.map(|(name, _)| name).join(", "))),
    }
}

/// The trials of one arrangement, engine and fault.
#[derive(Default)]
struct Cell {
    trials: u64,
    keys: u64,
    lost: u64,
    wrong: u64,
    after: u64,
    repaired: u64,
    failed: Vec<Stage>,
}

fn text(rows: &[Row]) -> String {
    let head = [
        "arrangement",
        "mode",
        "engine",
        "fault",
        "trials",
        "keys",
        "lost",
        "wrong",
        "went on",
        "repaired",
        "ended at",
    ];
    let mut cells: BTreeMap<usize, Cell> = BTreeMap::new();
    let first = |row: &Row| rows.iter().position(|other| same_cell(row, other)).unwrap_or_default();
    for row in rows {
        let cell = cells.entry(first(row)).or_default();
        let Some(FaultOutcome { written, found, .. }) = &row.outcome else { continue };
        cell.trials += 1;
        (cell.keys, cell.lost, cell.wrong) = (cell.keys + found.keys, cell.lost + found.lost, cell.wrong + found.wrong);
        cell.after += u64::from(written.acknowledged_after > 0);
        cell.repaired += u64::from(found.repaired);
        cell.failed.extend(found.failed.iter().map(|(stage, _)| *stage));
    }
    let mut lines = table(&head, 4);
    for (at, cell) in &cells {
        let row = &rows[*at];
        let is_hardware = matches!(row.fault, Fault::DiskFailure | Fault::CacheLoss);
        lines.add_row([
            row.arrangement.clone(),
            row.mode.map_or("–", mode_name).to_owned(),
            row.engine.clone(),
            row.fault.name().to_owned(),
            cell.trials.to_string(),
            cell.keys.to_string(),
            cell.lost.to_string(),
            cell.wrong.to_string(),
            if is_hardware { cell.after.to_string() } else { "–".to_owned() },
            cell.repaired.to_string(),
            ended_at(&cell.failed),
        ]);
    }
    let release = rows.iter().find_map(|row| Some(row.outcome.as_ref()?.kernel.as_str())).unwrap_or("?");
    format!(
        "{}\n\nThe kernel is Linux {release} in a guest. `keys` have an acknowledged version, of all trials together; `lost` of \
         them are missing or older; `wrong` have a value that was never written, or cannot be read. In so many trials the \
         engine `went on` after the failure, and the file system was `repaired`. Where all is lost, `ended at` says what could \
         not be brought back: `array`, `mount`, `open`.",
        lines.trim_fmt()
    )
}

fn same_cell(one: &Row, other: &Row) -> bool {
    let key = |row: &Row| (row.arrangement.clone(), row.mode.map(mode_name), row.engine.clone(), row.fault.name());
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
