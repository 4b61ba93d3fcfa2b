//! `manometer lab guest`: the first process of a guest.

use manometer_lab::guest::init;

use crate::array::refuse;
use crate::exit_status::ExitStatus;

/// Do the task of a guest, whose first process this is.
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct Args {
    /// What the kernel adds to its first process's words.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<String>,
}

/// Does the task, and powers the guest off.
pub fn run(_: &Args) -> anyhow::Result<ExitStatus> {
    match init::run() {
        Ok(()) => Ok(ExitStatus::Done),
        Err(error) => refuse(error),
    }
}
