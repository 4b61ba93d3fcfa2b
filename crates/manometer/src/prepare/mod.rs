//! `manometer prepare`: the device and the data, in a state that can be measured.

mod args;
mod text;

use std::collections::BTreeSet;
use std::path::Path;

use manometer_experiment::conductor;
use manometer_experiment::lock::DiskLocks;
use manometer_experiment::prepare::erase::{self, EraseError};
use manometer_experiment::prepare::ledger::LedgerEntries;
use manometer_experiment::prepare::{self, PreparedRun};
use manometer_experiment::setup::RunSetup;
use manometer_experiment::{Experiment, file, queue};
use manometer_measure::ByteSize;
use serde_json::json;

use crate::exit_status::{ExitStatus, wrong_request};
use crate::experiment_error::{refuse, wrong_file};
use crate::progress::{Progress, ProgressFormat};
use crate::{preparation, process};

pub use self::args::Args;

/// Prepares the experiment, or prints the steps.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let runs = match file::load(&args.file, &args.set) {
        Ok(experiment) => queue::plan_set([&experiment]).fitted_runs(),
        Err(error) => return Ok(wrong_file(&error)),
    };
    let Some(experiment) = runs.first().map(|run| &run.experiment) else { return Ok(ExitStatus::WrongRequest) };
    if let Some(device) = &args.erase {
        return erase_device(args, device, experiment);
    }
    if experiment.array.is_some() {
        return Ok(wrong_request(format_args!(
            "{} has an [array], which each run builds anew: there is nothing to prepare",
            args.file.display()
        )));
    }
    if args.dry_run { dry_run(args, experiment) } else { perform(args, experiment) }
}

fn erase_device(args: &Args, device: &Path, experiment: &Experiment) -> anyhow::Result<ExitStatus> {
    let Some(share) = experiment.prepare.over_provisioning else {
        return Ok(wrong_request(
            "--erase needs the share of the disk that stays unused: write `prepare.over_provisioning = 0.3`",
        ));
    };
    match erase::erase(device, share, args.erase_unknown_data) {
        Ok(erased) => {
            args.format.print(|| &erased, || text::erased(device, &erased, experiment))?;
            Ok(ExitStatus::Done)
        }
        Err(error @ (EraseError::NotABlockDevice(_) | EraseError::Refused { .. })) => {
            Ok(wrong_request(anyhow::Error::from(error)))
        }
        Err(error) => Err(error.into()),
    }
}

fn dry_run(args: &Args, experiment: &Experiment) -> anyhow::Result<ExitStatus> {
    let ledger = LedgerEntries::read(&experiment.directory)?;
    let steps = prepare::preview(experiment, &ledger, args.reuse);
    let budgets: Vec<ByteSize> = experiment.write_budget.into_iter().collect();
    args.format.print(
        || preparation::document(&experiment.directory, &budgets, &ledger, &steps),
        || preparation::text(&experiment.directory, &budgets, &ledger, &steps),
    )?;
    Ok(ExitStatus::Done)
}

fn perform(args: &Args, experiment: &Experiment) -> anyhow::Result<ExitStatus> {
    let _disks = match DiskLocks::take([experiment.directory.as_path()]) {
        Ok(disks) => disks,
        Err(error) => return refuse(error.into()),
    };
    let interrupted = process::interruption()?;
    let created = BTreeSet::new();
    let setup =
        RunSetup { program: process::executable(), reuse: args.reuse, created: &created, interrupted: &interrupted };
    let mut progress = Progress::new(experiment, ProgressFormat::Text);
    let outcome = conductor::prepare(experiment, &setup, &mut |update| progress.show(&update));
    progress.finish();
    match outcome {
        Ok(prepared) => {
            print(args, experiment, &prepared)?;
            Ok(ExitStatus::Done)
        }
        Err(error) => refuse(error.into()),
    }
}

fn print(args: &Args, experiment: &Experiment, prepared: &PreparedRun) -> anyhow::Result<()> {
    args.format.print(
        || {
            json!({
                "experiment": experiment.name,
                "directory": experiment.directory,
                "steps": prepared.steps,
                "device_state": prepared.device_state,
                "findings": prepared.findings,
            })
        },
        || text::prepared(experiment, prepared),
    )
}
