//! `manometer replay`: the replay of one trace, from flags.

mod args;
mod jobs;
mod json;
mod leftovers;
mod summary;
mod text;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context as _;
use manometer_session::protocol::Job;
use manometer_session::{group, single};

use self::jobs::{jobs, settings};
use self::leftovers::Leftovers;
use self::summary::TraceReplaySummary;
use crate::exit_status::{ExitStatus, wrong_request};
use crate::output::{self, Format};
use crate::process;

pub use self::args::Args;

/// Replays the trace and prints the result and its fidelity.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let jobs = match settings(args).and_then(|settings| jobs(args, &settings)) {
        Ok(jobs) => jobs,
        Err(error) => return Ok(wrong_request(error)),
    };
    let mut summary = TraceReplaySummary::new(args.format == Format::Text, jobs.len(), &args.on);
    let leftovers = (!args.keeps()).then(|| Leftovers::of(&jobs[0]));
    let interrupted = interruption(leftovers.clone())?;
    let ended = match &jobs[..] {
        [job] if args.on.is_empty() => replay_here(job, leftovers.as_ref(), &interrupted, &mut summary)?,
        several => {
            let group = group::run(&process::executable(), several, &args.on, args.on_lost, &interrupted, &mut summary);
            group.map_err(|error| (false, error.into()))
        }
    };
    match ended {
        Ok(()) => {}
        Err((true, error)) => return Ok(wrong_request(error)),
        // The measurements so far are printed, marked as incomplete.
        Err((false, error)) if summary.is_empty() => return Err(error),
        Err((false, error)) => summary.fail(&error),
    }
    anyhow::ensure!(!summary.is_empty(), "stopped before anything was sent");
    args.format.print(|| json::document(&summary), || text::text(&summary))?;
    let unfaithful = args.require_fidelity && summary.is_unfaithful();
    Ok(if summary.has_failed() || summary.is_interrupted() {
        ExitStatus::Failed
    } else if unfaithful {
        ExitStatus::No
    } else {
        ExitStatus::Done
    })
}

/// The flag that a signal sets. A second signal ends the program at once: it says so, and removes the data unless they are
/// to stay.
fn interruption(leftovers: Option<Leftovers>) -> std::io::Result<Arc<AtomicBool>> {
    process::interruption_or_else(move || {
        output::note("manometer: stopped at once by a second signal: there is no result, or it is incomplete");
        leftovers.and_then(|leftovers| leftovers.remove()).iter().for_each(|text| output::note(text));
    })
}

/// Replays on a thread of this process and removes the data unless it is to stay. The flag of the error is true where the
/// request was wrong.
fn replay_here(
    job: &Job,
    leftovers: Option<&Leftovers>,
    interrupted: &AtomicBool,
    summary: &mut TraceReplaySummary,
) -> anyhow::Result<Result<(), (bool, anyhow::Error)>> {
    // No other process uses the data: it is removed here.
    let job = Job { removes: false, ..job.clone() };
    match single::run(&job, interrupted, summary) {
        Ok(_) if leftovers.is_none() => Ok(Ok(())),
        Ok(data) => Ok(Ok(data.remove().context("removing the data")?)),
        Err(error) => {
            leftovers.and_then(Leftovers::remove).iter().for_each(|text| output::note(text));
            Ok(Err((error.is_wrong_request(), error.into())))
        }
    }
}
