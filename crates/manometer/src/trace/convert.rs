//! `manometer trace convert`: a trace in another format.

use manometer_trace::TraceError;
use manometer_trace::write::WriteSummary;
use serde_json::json;

use super::input::{self, Input};
use super::output::Output;
use crate::exit_status::ExitStatus;

/// Convert a trace to Parquet, oracleGeneral, KV-replay, CSV or fio's iolog.
///
/// The output names fields that the new format cannot hold. A damaged trace is converted up to its last good record.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer trace convert OLTP.lis.zst OLTP.oracleGeneral\n  \
    manometer trace convert live.blkparse live.parquet")]
pub struct Args {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    output: Output,
}

/// Converts the trace batch by batch.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    match convert(args) {
        Ok((from, written)) => args.output.print(&args.input.name(), &written, json!({ "from": from })),
        Err(error) => input::refuse(&error),
    }
}

fn convert(args: &Args) -> Result<(&'static str, WriteSummary), TraceError> {
    let mut trace = args.input.open_with_details(args.output.form.keeps_keys())?;
    let written = args.output.write(trace.reader.as_mut())?;
    Ok((trace.format.name, written))
}
