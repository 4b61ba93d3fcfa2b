//! `manometer trace merge`: several traces as one.

use std::process::ExitCode;

use clap::Args;
use manometer_trace::TraceError;
use manometer_trace::transform::merge::Merge;
use serde_json::json;

use super::input::{self, Inputs};
use super::output::{Output, Written};

/// Merge traces by time. Equal keys stay equal, and each trace keeps its own order.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  manometer trace merge monday.csv tuesday.csv both.parquet")]
pub struct MergeArgs {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    output: Output,
}

/// Merges.
pub fn run(args: &MergeArgs) -> anyhow::Result<ExitCode> {
    match merge(args) {
        Ok(written) => args.output.tell(&args.inputs.names(), &written, json!({ "traces": args.inputs.len() })),
        Err(error) => input::refuse(&error),
    }
}

fn merge(args: &MergeArgs) -> Result<Written, TraceError> {
    let traces = args.inputs.open_keeping(args.output.form.keeps_keys())?;
    args.output.write(&mut Merge::new(traces.into_iter().map(|trace| trace.reader).collect()))
}
