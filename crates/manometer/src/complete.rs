//! `manometer complete`: completions for a shell.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::exit_status::ExitStatus;
use crate::output;

/// Print the completions for a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  manometer complete bash > ~/.local/share/bash-completion/completions/manometer")]
pub struct Args {
    /// Shell.
    shell: Shell,
}

/// Prints the completions.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let mut command = super::Cli::command();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "manometer", &mut script);
    output::print_bytes(&script)?;
    Ok(ExitStatus::Done)
}
