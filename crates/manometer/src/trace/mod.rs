//! `manometer trace`: one module per verb.

mod anonymise;
mod capture;
mod characterise;
mod clone;
mod complete;
mod convert;
mod head;
mod info;
pub(crate) mod input;
mod intensify;
mod merge;
mod output;
mod sample;
mod scale;
mod slice;
mod subtrace;
mod synthesise;

use crate::exit_status::ExitStatus;
use crate::verbs::verbs;

/// Read, convert, characterise and capture traces: recorded sequences of requests.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  manometer trace info cluster52.csv.zst")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

verbs! {
    Anonymise => anonymise,
    Capture => capture,
    Characterise => characterise,
    Clone => clone,
    Complete => complete,
    Convert => convert,
    Head => head,
    Info => info,
    Intensify => intensify,
    Merge => merge,
    Sample => sample,
    Scale => scale,
    Slice => slice,
    Subtrace => subtrace,
    Synthesise => synthesise,
}

/// Runs the verb.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    args.verb.run()
}
