//! `manometer run --dry-run`: the phases, their duration and the bytes they write. Nothing is started.

mod json;
mod text;

use manometer_analysis::forecast::{Forecast, PlannedExperiment, forecast};
use manometer_experiment::plan::plan;
use manometer_experiment::queue::PlannedRun;
use manometer_experiment::queue::dry_run::DryRun;
use manometer_measure::{Recording, RecordingError};

use super::args::Args;

/// What a dry run prints.
struct DryRunReport<'a> {
    dry_run: DryRun<'a>,
    /// What an earlier recording says of the intervals.
    forecast: Option<Forecast>,
}

/// What the earlier recording that `args` name says of the first of `runs`.
///
/// # Errors
/// It cannot be read.
pub(super) fn forecast_of(args: &Args, runs: &[PlannedRun]) -> Result<Option<Forecast>, RecordingError> {
    let Some((dir, run)) = args.earlier.as_deref().zip(runs.first()) else { return Ok(None) };
    let experiment = &run.experiment;
    let length = experiment.times.planned_length();
    let planned = PlannedExperiment { length, plan: &plan(experiment), file: &experiment.to_toml() };
    Ok(Some(forecast(&Recording::open(dir)?, planned)))
}

/// Prints the runs and their cost.
pub(super) fn run(args: &Args, runs: &[PlannedRun], forecast: Option<Forecast>) -> anyhow::Result<()> {
    let dry_run = DryRun::estimate(runs, args.reuse, args.write_speed)?;
    let report = DryRunReport { dry_run, forecast };
    args.format.print(|| json::document(&report), || text::text(&report))
}
