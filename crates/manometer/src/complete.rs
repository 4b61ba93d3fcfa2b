//! `manometer complete`: completions for a shell.

use std::process::ExitCode;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

/// Print the completions for a shell.
#[derive(Args)]
#[command(after_help = "Example: manometer complete bash > ~/.local/share/bash-completion/completions/manometer")]
pub struct Arguments {
    /// The shell.
    shell: Shell,
}

/// Prints the completions.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut command = crate::Arguments::command();
    clap_complete::generate(arguments.shell, &mut command, "manometer", &mut std::io::stdout());
    Ok(ExitCode::SUCCESS)
}
