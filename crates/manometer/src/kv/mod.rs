//! `manometer kv`: one key-value workload, from flags.

mod args;
mod describe;
mod engine_options;
mod find_max;
mod json;
mod loading_bar;
mod settings;
mod summary;
mod text;

use std::time::Duration;

use anyhow::Context as _;
use manometer_measure::{Span, recording};
use manometer_session::error::SessionError;
use manometer_session::find_max::{FindMax, FindMaxRequest};
use manometer_session::protocol::{DatabaseReuse, Job};
use manometer_session::single::{self, MessageHandler};
use manometer_workload::kv::KvPlan;
use manometer_workload::settings::WorkloadSettings;

use self::loading_bar::LoadingBar;
use self::settings::{planned, settings};
use self::summary::KvSummary;
use crate::exit_status::{ExitStatus, wrong_request};
use crate::output::{self, Format};
use crate::process;

pub use self::args::Args;

/// The folder of the workload in `--dir`.
const NAME: &str = "kv";

/// The longest sample interval of a search: a rate is measured in whole intervals.
const FIND_MAX_INTERVAL: Span = Span(Duration::from_millis(100));

/// Runs the workload and prints the result.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let (settings, seconds) = match settings(args).and_then(|settings| planned(args, settings)) {
        Ok(planned) => planned,
        Err(error) => return Ok(wrong_request(error)),
    };
    if args.describe {
        return describe::print(&settings, args.format);
    }
    let pace = KvPlan::new(&settings)?.pace;
    let interval = if args.find_max { args.interval.min(FIND_MAX_INTERVAL) } else { args.interval };
    let job = Job {
        name: NAME.to_owned(),
        directory: args.dir.clone(),
        existing: if args.reuse { DatabaseReuse::Reuse } else { DatabaseReuse::Remake },
        interval_ms: interval.milliseconds().max(1),
        seed: args.seed,
        removes: false,
        waits: false,
        clients: None,
        share: None,
        workload: WorkloadSettings::Kv(settings.clone()),
    };
    if args.find_max {
        return find_max(args, &job, seconds);
    }
    let mut summary = KvSummary::new(args.format == Format::Text, pace, [args.warmup, seconds]);
    if let Err(error) = run_alone(args, &job, &mut summary)? {
        return failed(error);
    }
    anyhow::ensure!(!summary.is_empty(), "stopped before anything was measured");
    args.format.print(|| json::document(&summary), || text::text(&summary))?;
    Ok(ExitStatus::Done)
}

/// Searches the highest rate and prints it.
fn find_max(args: &Args, job: &Job, seconds: f64) -> anyhow::Result<ExitStatus> {
    let request = FindMaxRequest { goal: args.goal, achieved: args.achieved, seconds };
    let mut search = FindMax::new(request, |measured| output::note(&find_max::rate_text(measured, args.goal)));
    if let Err(error) = run_alone(args, job, &mut search)? {
        return failed(error);
    }
    if let Some(reason) = &search.refused {
        anyhow::bail!("{reason}");
    }
    let capacity = search.answer.context("stopped before the end of the search")?;
    args.format.print(|| find_max::document(&search), || find_max::text(&search))?;
    if let Some(out) = &args.out {
        recording::write_file(out, find_max::page(&search).as_bytes())?;
        output::note(&format!("latency against rate: {}", out.display()));
    }
    Ok(ExitStatus::of_gate(capacity.is_met(), false))
}

/// Runs the workload to its end and removes its data unless `--keep` or `--reuse` is given.
fn run_alone(args: &Args, job: &Job, observer: &mut dyn MessageHandler) -> anyhow::Result<Result<(), SessionError>> {
    let mut observer = LoadingBar::new(observer);
    let data = match single::run(job, &*process::interruption()?, &mut observer) {
        Ok(data) => data,
        Err(error) => return Ok(Err(error)),
    };
    if !args.keep && !args.reuse {
        data.remove().context("removing the data")?;
    }
    Ok(Ok(()))
}

/// The exit status of a wrong request, or the error.
fn failed(error: SessionError) -> anyhow::Result<ExitStatus> {
    if error.is_wrong_request() { Ok(wrong_request(anyhow::Error::from(error))) } else { Err(error.into()) }
}
