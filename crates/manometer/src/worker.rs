//! `manometer worker`: one workload of a run, driven by lines on standard input.

use std::process::ExitCode;

use clap::Args;

use crate::{DONE, FAILED};

/// Run one workload as told on standard input (see docs/worker.md).
#[derive(Args)]
pub struct Arguments {}

/// Runs the job on standard input; what failed has been told there too.
pub fn run(_: &Arguments) -> anyhow::Result<ExitCode> {
    let outcome = manometer_session::worker::run();
    Ok(ExitCode::from(if outcome.is_ok() { DONE } else { FAILED }))
}
