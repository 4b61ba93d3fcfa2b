//! `manometer run`: experiments, recorded.

mod args;
mod array;
mod dry_run;
mod goal;
mod out;
mod queue;
mod real_vs_synthetic;
mod session;
mod single;

use std::collections::BTreeSet;
use std::path::PathBuf;

use manometer_experiment::isolate::{self, IsolateError};
use manometer_experiment::place::check_out;
use manometer_experiment::prepare::check_power_states;
use manometer_experiment::queue::{PlannedRun, plan_set};
use manometer_experiment::{Experiment, conductor, file};
use manometer_measure::event::RunStatus;

use self::out::{default_out, device_directory_of};
use self::session::RunContext;
use crate::exit_status::{ExitStatus, wrong_request};
use crate::experiment_error::{refuse, wrong_file};
use crate::process;

pub use self::args::Args;

/// Runs the experiments, or prints what would run.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    if real_vs_synthetic::is_requested(args) {
        return real_vs_synthetic::run(args);
    }
    let load = |path: &PathBuf| file::load(path, &args.set).map(|experiment| (path.clone(), experiment));
    let files: Vec<(PathBuf, Experiment)> = match args.files.iter().map(load).collect() {
        Ok(files) => files,
        Err(error) => return Ok(wrong_file(&error)),
    };
    if let Some(directory) = device_directory_of(args, &files) {
        return Ok(wrong_request(format_args!(
            "--out {} is the device directory of the experiment: databases and files are there; choose another \
             directory, on another device if there is one",
            directory.display()
        )));
    }
    if let Some(out) = args.out.as_ref().filter(|out| out.symlink_metadata().is_ok() && !out.is_dir()) {
        return Ok(wrong_request(format_args!("--out {} is not a directory: choose another name", out.display())));
    }
    let outs = files.iter().flat_map(|(_, experiment)| args.out.iter().map(move |out| check_out(experiment, out)));
    if let Some(error) = outs.filter_map(Result::err).next() {
        return Ok(wrong_request(error));
    }
    if let Some((path, _)) = files.iter().find(|(_, experiment)| args.junit.is_some() && experiment.goal.is_none()) {
        return Ok(wrong_request(format_args!(
            "--junit: {} has no [goal] to test; add it, such as `pressure = 0.1`, the greatest pressure that passes",
            path.display()
        )));
    }
    if let Some((path, _)) = files.iter().find(|(_, experiment)| args.reuse && experiment.array.is_some()) {
        return Ok(wrong_request(format_args!(
            "--reuse: {} has an [array], and what is on it does not outlive a run",
            path.display()
        )));
    }
    let planned = plan_set(files.iter().map(|(_, experiment)| experiment));
    let all = planned.fitted_runs();
    let refusals = if args.elsewhere { Vec::new() } else { unsupported(&all) };
    if args.dry_run {
        let forecast = match dry_run::forecast_of(args, &all) {
            Ok(forecast) => forecast,
            Err(error) => return Ok(wrong_request(error)),
        };
        dry_run::run(args, &all, forecast)?;
    }
    if !refusals.is_empty() {
        return refuse(IsolateError::Unsupported(refusals).into());
    }
    if args.elsewhere {
        return Ok(ExitStatus::Done);
    }
    if let Err(error) = all.iter().try_for_each(|run| check_power_states(&run.experiment)) {
        return refuse(error.into());
    }
    let check = |run: &PlannedRun| {
        conductor::check(&run.experiment, args.reuse)?;
        array::check(&run.experiment)
    };
    if let Err(error) = all.iter().try_for_each(check) {
        return refuse(error.into());
    }
    if args.dry_run {
        return Ok(ExitStatus::Done);
    }
    let interrupted = process::interruption()?;
    let out = args.out.clone().unwrap_or_else(|| default_out(&files[0].1.name));
    let session = RunContext { args, interrupted: &interrupted };
    let outcome = match planned.single_experiment() {
        Some(experiment) => single::run(&session, &out, experiment, &planned.fits),
        None => queue::run(&session, &out, &files, &planned),
    };
    match outcome {
        Ok((RunStatus::Complete, recorded)) => goal::judge(args, &recorded),
        Ok(_) => Ok(ExitStatus::Failed),
        Err(error) => refuse(error),
    }
}

/// What `runs` require and this host does not support.
fn unsupported(runs: &[PlannedRun]) -> Vec<String> {
    let experiments = || runs.iter().map(|run| &run.experiment);
    let devices: BTreeSet<&str> = experiments().filter_map(|experiment| experiment.device_name.as_deref()).collect();
    let several = (devices.len() > 1).then(|| {
        let names = devices.into_iter().collect::<Vec<_>>().join(", ");
        format!("`device.name`: the runs are for several devices ({names}): `manometer cluster run` sends each to a host that has its own")
    });
    several.into_iter().chain(isolate::unsupported(experiments())).collect()
}
