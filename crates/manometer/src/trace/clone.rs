//! `manometer trace clone`: copies of a trace on disjoint keys.

use manometer_trace::TraceError;
use manometer_trace::transform::copies::Copies;
use manometer_trace::write::WriteSummary;
use serde_json::json;

use super::input::{self, Input};
use super::output::Output;
use crate::exit_status::ExitStatus;

/// Write every request several times, each copy with its own keys and clients.
///
/// The first copy keeps the original keys, the only ones of which texts and recorded commands are known. Each copy of a
/// block trace has its own devices.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  manometer trace clone web.csv threefold.parquet 3")]
pub struct Args {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    output: Output,
    /// Number of copies, including the original.
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    copies: u32,
}

/// Clones the trace.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    match clone(args) {
        Ok(written) => args.output.print(&args.input.name(), &written, json!({ "copies": args.copies })),
        Err(error) => input::refuse(&error),
    }
}

fn clone(args: &Args) -> Result<WriteSummary, TraceError> {
    let trace = args.input.open_with_details(args.output.form.keeps_keys())?;
    args.output.write(&mut Copies::new(trace.reader, args.copies)?)
}
