//! One experiment without a sweep: --out is its recording.

use std::collections::BTreeSet;
use std::path::Path;

use manometer_experiment::Experiment;
use manometer_experiment::conductor::DiskLocks;
use manometer_experiment::fit::{Fits, fit_of, fitted};
use manometer_experiment::queue::single::{Left, take_up};
use manometer_measure::event::Status;

use super::Session;
use crate::format::{self, Format};

/// Runs `experiment`, shrunk as `fits` say, into `out`; with `--resume` unless its whole recording is there already,
/// and shrunk as what was cut off was.
pub(super) fn run(session: &Session<'_>, out: &Path, experiment: &Experiment, fits: &Fits) -> anyhow::Result<Status> {
    let _disks = DiskLocks::take([experiment.directory.as_path()])?;
    let fit = fit_of(experiment, fits);
    let left = if session.arguments.resume { take_up(out, experiment, fit)? } else { Left::Nothing };
    let status = match left {
        Left::Whole => {
            format::note(&format!("{} is whole: nothing to do", out.display()));
            Status::Complete
        }
        Left::Nothing => perform(session, out, &fitted(experiment.clone(), fit))?,
        Left::SetAside { to, fit } => {
            format::note(&format!("the recording that was cut off lies in {} now", to.display()));
            perform(session, out, &fitted(experiment.clone(), fit))?
        }
    };
    let recorded = session.show(out)?;
    if session.arguments.format == Format::Json {
        format::json(&recorded.summary)?;
    }
    Ok(status)
}

fn perform(session: &Session<'_>, out: &Path, experiment: &Experiment) -> anyhow::Result<Status> {
    let none = BTreeSet::new();
    session.announce(1, 1, experiment, out, &none);
    Ok(session.perform(experiment, out, &none, &mut BTreeSet::new())?)
}
