//! `manometer trace`: one file per verb below it.

mod capture;

use std::process::ExitCode;

use clap::{Args, Subcommand};

/// Traces: recorded sequences of requests.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  manometer trace capture /dev/nvme0n1 --seconds 60 --out live.blkparse")]
pub struct TraceArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Capture(capture::CaptureArgs),
}

/// Does what the verb says.
pub fn run(args: &TraceArgs) -> anyhow::Result<ExitCode> {
    match &args.verb {
        Verb::Capture(args) => capture::run(args),
    }
}
