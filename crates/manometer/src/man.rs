//! `manometer man`: the manual pages of the command line.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::CommandFactory as _;

use crate::exit_status::ExitStatus;

/// Write a manual page for each verb into a directory.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  manometer man ~/.local/share/man/man1")]
pub struct Args {
    /// Directory, which is created.
    directory: PathBuf,
}

/// Writes the pages.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let pages = std::fs::create_dir_all(&args.directory)
        .and_then(|()| clap_mangen::generate_to(super::Cli::command(), &args.directory));
    pages.with_context(|| args.directory.display().to_string())?;
    Ok(ExitStatus::Done)
}
