//! `manometer guard`: ends the workers of a run that was killed together with them.

use crate::exit_status::ExitStatus;

/// End the workers whose marks are on standard input, and what they started, once it is closed.
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct Args {}

/// Waits for the end of standard input.
#[expect(clippy::unnecessary_wraps, reason = "every verb has this form")]
pub fn run(_: &Args) -> anyhow::Result<ExitStatus> {
    manometer_session::guard::run();
    Ok(ExitStatus::Done)
}
