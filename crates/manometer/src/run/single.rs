//! One experiment without a sweep: --out is its recording.

use std::collections::BTreeSet;
use std::path::Path;

use manometer_experiment::Experiment;
use manometer_experiment::conductor::DiskLocks;
use manometer_experiment::queue::single::{Left, take_up};
use manometer_measure::event::Status;

use super::{Session, announce};
use crate::format::{self, Format};

/// Runs `experiment` into `out`; with `--resume` unless its whole recording is there already.
pub(super) fn run(session: &Session<'_>, out: &Path, experiment: &Experiment) -> anyhow::Result<Status> {
    let _disks = DiskLocks::take([experiment.directory.as_path()])?;
    let left = if session.arguments.resume { take_up(out, experiment)? } else { Left::Nothing };
    let status = match left {
        Left::Whole => {
            format::note(&format!("{} is whole: nothing to do", out.display()));
            Status::Complete
        }
        Left::Nothing | Left::SetAside(_) => {
            if let Left::SetAside(to) = left {
                format::note(&format!("the recording that was cut off lies in {} now", to.display()));
            }
            announce("", experiment, None);
            session.perform(experiment, out, &BTreeSet::new())?.status
        }
    };
    let recorded = session.show(out)?;
    if session.arguments.format == Format::Json {
        format::json(&recorded.summary)?;
    }
    Ok(status)
}
