//! `manometer trace clone`: more of the same on disjoint keys.

use manometer_trace::TraceError;
use manometer_trace::transform::copies::Copies;
use serde_json::json;

use super::input::{self, Input};
use super::output::{Output, Written};
use crate::exit_status::ExitStatus;

/// Write every request several times, each copy on keys and from clients of its own.
///
/// The first copy keeps its keys. Copies of devices are on devices of their own.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  manometer trace clone web.csv threefold.parquet 3")]
pub struct Args {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    output: Output,
    /// How many copies, the original included.
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    copies: u32,
}

/// Clones.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    match clone(args) {
        Ok(written) => args.output.tell(&args.input.name(), &written, json!({ "copies": args.copies })),
        Err(error) => input::refuse(&error),
    }
}

fn clone(args: &Args) -> Result<Written, TraceError> {
    let trace = args.input.open_keeping(args.output.form.keeps_keys())?;
    args.output.write(&mut Copies::new(trace.reader, args.copies)?)
}
