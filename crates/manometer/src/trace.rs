//! `manometer trace`: one file per verb below it.

mod capture;
mod convert;
mod head;
mod info;
mod input;

use std::process::ExitCode;

use clap::{Args, Subcommand};

/// Traces: recorded sequences of requests.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  manometer trace info cluster52.csv.zst")]
pub struct TraceArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Capture(capture::CaptureArgs),
    Convert(convert::ConvertArgs),
    Head(head::HeadArgs),
    Info(info::InfoArgs),
}

/// Does what the verb says.
pub fn run(args: &TraceArgs) -> anyhow::Result<ExitCode> {
    match &args.verb {
        Verb::Capture(args) => capture::run(args),
        Verb::Convert(args) => convert::run(args),
        Verb::Head(args) => head::run(args),
        Verb::Info(args) => info::run(args),
    }
}
