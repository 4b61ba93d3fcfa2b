//! `manometer backpath`: one module per verb.

mod mount;

use crate::exit_status::ExitStatus;
use crate::verbs::verbs;

/// Mount directories and metadata stores whose paths are looked up from their end.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  manometer backpath mount src /mnt/src")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

verbs! {
    Mount => mount,
}

/// Runs the verb.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    args.verb.run()
}
