//! `manometer trace merge`: several traces merged by time.

use manometer_trace::TraceError;
use manometer_trace::transform::merge::Merge;
use manometer_trace::write::WriteSummary;
use serde_json::json;

use super::input::{self, Inputs};
use super::output::Output;
use crate::exit_status::ExitStatus;

/// Merge traces by time. Equal keys stay equal, and each trace keeps its own order.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  manometer trace merge monday.csv tuesday.csv both.parquet")]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    output: Output,
}

/// Merges the traces.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    match merge(args) {
        Ok((damaged, written)) => args.output.print(&damaged, &written, json!({ "traces": args.inputs.len() })),
        Err(error) => input::refuse(&error),
    }
}

/// The name of the damaged trace, if any, and the counts.
fn merge(args: &Args) -> Result<(String, WriteSummary), TraceError> {
    let traces = args.inputs.open_with_details(args.output.form.keeps_keys())?;
    let mut merged = Merge::new(traces.into_iter().map(|trace| trace.reader).collect());
    let written = args.output.write(&mut merged)?;
    Ok((merged.damaged().map(|number| args.inputs.name(number)).unwrap_or_default(), written))
}
