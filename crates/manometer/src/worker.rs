//! `manometer worker`: one workload of a run, driven by control lines on standard input.

use crate::exit_status::ExitStatus;

/// Run one workload: its job and control lines on standard input, its messages on standard output (docs/worker.md).
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct Args {}

/// Runs the job on standard input. A failure has been sent as a message.
pub fn run(_: &Args) -> anyhow::Result<ExitStatus> {
    let outcome = manometer_session::worker::run();
    Ok(if outcome.is_ok() { ExitStatus::Done } else { ExitStatus::Failed })
}
