//! `manometer trace intensify`: a shorter trace at a higher rate.

use manometer_trace::TraceError;
use manometer_trace::transform::intensify::{PARTS_MAX, intensify as intensified};
use manometer_trace::write::WriteSummary;
use serde_json::json;

use super::input::{self, Input};
use super::output::Output;
use crate::exit_status::ExitStatus;

/// Overlay equal parts of a trace from time zero, each with its own keys and clients.
///
/// The trace is read once per part. Texts of keys and recorded commands are left out.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  manometer trace intensify day.csv heavy.parquet 4")]
pub struct Args {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    output: Output,
    /// Number of parts: the factor of the rate.
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(PARTS_MAX)))]
    parts: u32,
}

/// Intensifies the trace.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    match intensify(args) {
        Ok(written) => args.output.print(&args.input.name(), &written, json!({ "parts": args.parts })),
        Err(error) => input::refuse(&error),
    }
}

fn intensify(args: &Args) -> Result<WriteSummary, TraceError> {
    let span = args.input.span("intensify")?;
    // Texts of keys would not distinguish the parts.
    let open = || Ok(args.input.open_for_details(args.output.form.keeps_keys())?.reader);
    args.output.write(&mut intensified(open, span, args.parts)?)
}
