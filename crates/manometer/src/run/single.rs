//! A single run: --out is its recording.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use manometer_experiment::Experiment;
use manometer_experiment::conductor::RunError;
use manometer_experiment::prepare::disk_fit::{DiskFits, fit_of};
use manometer_experiment::queue::single_run::{ExistingRecording, resume_single};
use manometer_measure::Recording;
use manometer_measure::event::RunStatus;
use manometer_measure::recording::OutDirectory;
use manometer_report::AnalysedRecording;

use super::session::RunContext;
use crate::output::{self, Format};

/// Runs `experiment`, shrunk by `fits`, into `out`. With `--resume` a complete recording stays, and an interrupted run is
/// repeated with its own share.
pub(super) fn run(
    session: &RunContext<'_>,
    out: &Path,
    experiment: &Experiment,
    fits: &DiskFits,
) -> anyhow::Result<(RunStatus, Vec<AnalysedRecording>)> {
    let _disks = session.lock_disks(&experiment.storage())?;
    let fit = fit_of(experiment, fits);
    let left = if session.args.resume { resume_single(out, experiment, fit)? } else { ExistingRecording::Missing };
    let (status, recording) = match left {
        ExistingRecording::Complete => {
            output::note(&format!("{} is complete: nothing to do", out.display()));
            (RunStatus::Complete, Recording::open(out)?)
        }
        ExistingRecording::Missing => perform(session, out, &experiment.clone().fitted(fit))?,
        ExistingRecording::SetAside { what, to, fit } => {
            output::note(&format!("the {what} recording was moved to {}", to.display()));
            perform(session, out, &experiment.clone().fitted(fit))?
        }
    };
    let recorded = session.show(recording)?;
    if session.args.format == Format::Json {
        output::print_json(&recorded.summary)?;
    }
    if status == RunStatus::Interrupted {
        output::note(&format!("interrupted: `--resume --out {}` repeats the run", out.display()));
    }
    Ok((status, vec![recorded]))
}

fn perform(session: &RunContext<'_>, out: &Path, experiment: &Experiment) -> anyhow::Result<(RunStatus, Recording)> {
    let all = experiment.workloads().map(|workload| experiment.directory.join(&workload.name));
    let replaced: BTreeSet<PathBuf> = all.filter(|_| session.args.replace).collect();
    // Preparing may take hours: an unusable output folder is reported first.
    let held = OutDirectory::create(out).map_err(RunError::from)?;
    session.announce(1, 1, experiment, out, &replaced);
    let status = session.perform(experiment, held.directory(), &replaced, &mut BTreeSet::new())?;
    Ok((status, Recording::open_held(held.directory())?))
}
