//! `manometer run --dry-run`: the phases, their duration and the bytes they write. Nothing is started.

mod json;
mod text;

use manometer_experiment::queue::PlannedRun;
use manometer_experiment::queue::dry_run::DryRun;

use super::args::Args;

/// Prints the runs and their cost.
pub(super) fn run(args: &Args, runs: &[PlannedRun]) -> anyhow::Result<()> {
    let dry_run = DryRun::estimate(runs, args.reuse, args.write_speed)?;
    args.format.print(|| json::document(&dry_run), || text::text(&dry_run))
}
