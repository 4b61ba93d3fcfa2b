//! `manometer run --dry-run`: the phases, their duration and the bytes they write. Nothing is started.

mod json;
mod text;

use std::path::Path;

use manometer_analysis::verdict::{Forecast, PlannedLength, forecast};
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
    read_forecast(dir, run).map(Some)
}

fn read_forecast(dir: &Path, run: &PlannedRun) -> Result<Forecast, RecordingError> {
    let times = &run.experiment.times;
    let planned = match times.blocks {
        Some(blocks) => PlannedLength::Rounds { rounds: blocks.rounds as usize, block_s: blocks.measured_s() },
        None => PlannedLength::Phases { phase_s: times.phase.seconds() },
    };
    Ok(forecast(&Recording::open(dir)?, planned))
}

/// Prints the runs and their cost.
pub(super) fn run(args: &Args, runs: &[PlannedRun], forecast: Option<Forecast>) -> anyhow::Result<()> {
    let dry_run = DryRun::estimate(runs, args.reuse, args.write_speed)?;
    let report = DryRunReport { dry_run, forecast };
    args.format.print(|| json::document(&report), || text::text(&report))
}
