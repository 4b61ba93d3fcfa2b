//! `manometer prepare`: the device and the data, brought into a state that can be measured.

mod show;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use manometer_experiment::conductor;
use manometer_experiment::lock::DiskLocks;
use manometer_experiment::prepare::erase::{self, EraseError};
use manometer_experiment::prepare::ledger::LedgerEntries;
use manometer_experiment::prepare::{self, PreparedRun};
use manometer_experiment::setup::RunSetup;
use manometer_experiment::{Experiment, file, queue};
use manometer_measure::ByteSize;
use serde_json::json;

use crate::format::{self, Format};
use crate::progress::{Form, Progress};
use crate::{DONE, WRONG_REQUEST, run};

pub use show::{outline, outline_json};

/// Precondition the device, load and settle what an experiment needs, keep a snapshot; measure nothing.
#[derive(Args)]
#[command(after_help = "Examples:\n  manometer prepare experiments/prepared.toml\n  \
    manometer prepare my.toml --dry-run\n  \
    manometer prepare my.toml --erase /dev/nvme1n1   # destroys what is on it")]
pub struct Arguments {
    /// The experiment file; of a sweep its first run is prepared.
    file: PathBuf,
    /// Change a value of the file: `prepare.settle=45m`, `device.write_budget=200GiB`.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Use databases and files that another experiment left, where they can serve, instead of making them.
    #[arg(long)]
    reuse: bool,
    /// Print what would be done, what it writes, and what is left of the write budget; do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Destroy what is on this whole disk: one partition that leaves `prepare.over_provisioning` of it to no one, the
    /// rest discarded. Refused when it is mounted, in use, or holds anything that is known. Nothing else is done.
    #[arg(long, value_name = "DEVICE", conflicts_with = "dry_run")]
    erase: Option<PathBuf>,
    /// For whom to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Prepares, or shows what would be done.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let runs = match file::load(&arguments.file, &arguments.set) {
        Ok(experiment) => queue::plan_set([&experiment]).fitted_runs(),
        Err(error) => {
            error.problems.iter().for_each(run::show_problem);
            return Ok(ExitCode::from(WRONG_REQUEST));
        }
    };
    let Some(experiment) = runs.first().map(|run| &run.experiment) else { return Ok(ExitCode::from(WRONG_REQUEST)) };
    if let Some(device) = &arguments.erase {
        return erase_device(arguments, device, experiment);
    }
    if arguments.dry_run { dry_run(arguments, experiment) } else { perform(arguments, experiment) }
}

fn erase_device(arguments: &Arguments, device: &Path, experiment: &Experiment) -> anyhow::Result<ExitCode> {
    let Some(share) = experiment.prepare.over_provisioning else {
        format::note(
            "manometer: --erase needs to know which share stays unused: write `prepare.over_provisioning = 0.3`",
        );
        return Ok(ExitCode::from(WRONG_REQUEST));
    };
    match erase::erase(device, share) {
        Ok(erased) => {
            match arguments.format {
                Format::Json => format::json(&erased)?,
                Format::Text => format::text(&show::erased(device, &erased, experiment))?,
            }
            Ok(ExitCode::from(DONE))
        }
        Err(error @ (EraseError::NotABlockDevice(_) | EraseError::Refused { .. })) => {
            format::problem(&error.into());
            Ok(ExitCode::from(WRONG_REQUEST))
        }
        Err(error) => Err(error.into()),
    }
}

fn dry_run(arguments: &Arguments, experiment: &Experiment) -> anyhow::Result<ExitCode> {
    let book = LedgerEntries::read(&experiment.directory)?;
    let steps = prepare::preview(experiment, &book, arguments.reuse);
    let budgets: Vec<ByteSize> = experiment.write_budget.into_iter().collect();
    match arguments.format {
        Format::Json => format::json(&outline_json(&experiment.directory, &budgets, &book, &steps))?,
        Format::Text => format::text(&outline(&experiment.directory, &budgets, &book, &steps))?,
    }
    Ok(ExitCode::from(DONE))
}

fn perform(arguments: &Arguments, experiment: &Experiment) -> anyhow::Result<ExitCode> {
    let _disks = match DiskLocks::take([experiment.directory.as_path()]) {
        Ok(disks) => disks,
        Err(error) => return run::refused(error.into()),
    };
    let interrupted = crate::signals::interruption()?;
    let (out, made) = (PathBuf::new(), BTreeSet::new());
    let setup =
        RunSetup { program: run::program(), out, reuse: arguments.reuse, created: &made, interrupted: &interrupted };
    let mut progress = Progress::new(experiment, Form::Text);
    let outcome = conductor::prepare(experiment, &setup, &mut |update| progress.show(&update));
    progress.finish();
    match outcome {
        Ok(brought) => {
            show(arguments, experiment, &brought)?;
            Ok(ExitCode::from(DONE))
        }
        Err(error) => run::refused(error.into()),
    }
}

fn show(arguments: &Arguments, experiment: &Experiment, brought: &PreparedRun) -> anyhow::Result<()> {
    match arguments.format {
        Format::Json => format::json(&json!({
            "experiment": experiment.name,
            "directory": experiment.directory,
            "steps": brought.steps,
            "device_state": brought.device_state,
            "findings": brought.findings,
        })),
        Format::Text => format::text(&show::brought(experiment, brought)),
    }
}
