//! `manometer lab faults`.

mod text;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use manometer_cache::tier::WriteMode;
use manometer_lab::fault_trials;
use manometer_lab::faults::{ENGINES, Fault, FaultTrial};
use manometer_lab::guest::GuestMachine;
use manometer_lab::{ArrangementChoice, LabError};
use serde_json::json;

use self::text::{TrialResult, text};
use super::{GuestArgs, mode_named};
use crate::array::refuse;
use crate::exit_status::ExitStatus;
use crate::output::{self, Format};
use crate::process;

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
    /// Handling of writes by the caches that there are; by default that of the arrangement.
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
    /// Acknowledged writes before the fault, at least.
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

fn run_trial(machine: &GuestMachine, (arrangement, mode, trial): &NamedTrial, interrupted: &AtomicBool) -> TrialResult {
    let (outcome, error) = match fault_trials::run_trial(machine, trial, interrupted) {
        Ok(outcome) => (Some(outcome), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let (arrangement, engine) = (arrangement.clone(), trial.engine.clone());
    TrialResult { arrangement, mode: *mode, engine, fault: trial.fault, seed: trial.seed, outcome, error }
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
    let refuse = |text: &str| Err(LabError::Refused(text.to_owned()));
    let Some(end) = args.seed.checked_add(args.repeats) else {
        return refuse("--seed is too large for so many --repeats");
    };
    if !are_distinct(args.array.iter().map(|file| file.file_stem())) {
        return refuse("two files after `--array` have one name, which names them in the table: rename one");
    }
    if !are_distinct(&engines) || !are_distinct(faults.iter().map(|fault| fault.name())) {
        return refuse("an engine or a fault is given twice");
    }
    let mut trials = Vec::new();
    for file in &args.array {
        let arrangement = std::path::absolute(file).map_err(|error| LabError::Refused(error.to_string()))?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for mode in modes(args, &arrangement)? {
            let array = ArrangementChoice { file: arrangement.clone(), sizes: None, mode };
            for engine in &engines {
                for fault in faults.iter().filter(|fault| **fault != Fault::CacheLoss || mode.is_some()) {
                    for seed in args.seed..end {
                        let (engine, acknowledged) = (engine.clone(), machine.shared("acknowledged"));
                        let (array, writes) = (array.clone(), args.writes);
                        let trial = FaultTrial {
                            array,
                            engine,
                            sync: !args.no_sync,
                            fault: *fault,
                            writes,
                            seed,
                            acknowledged,
                        };
                        trials.push((name.clone(), mode, trial));
                    }
                }
            }
        }
    }
    for (_, _, trial) in &trials {
        fault_trials::check(trial)?;
    }
    if trials.is_empty() { refuse("no arrangement has a `[cache]` to lose") } else { Ok(trials) }
}

/// Whether no item comes twice.
fn are_distinct<T: Ord>(items: impl IntoIterator<Item = T>) -> bool {
    let mut seen = BTreeSet::new();
    items.into_iter().all(|item| seen.insert(item))
}

/// The ways in which the cache of an arrangement is to handle writes; without a cache a single `None`.
fn modes(args: &Args, file: &Path) -> Result<Vec<Option<WriteMode>>, LabError> {
    let own = ArrangementChoice { file: file.to_owned(), sizes: None, mode: None };
    let arrangement = own.load()?;
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
