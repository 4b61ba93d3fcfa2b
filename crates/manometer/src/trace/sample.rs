//! `manometer trace sample`: a sample of the keys.

use manometer_trace::TraceError;
use manometer_trace::transform::sample::{SampledTrace, SpatialFilter};
use manometer_trace::write::WriteSummary;
use serde_json::json;

use super::input::{self, Input};
use super::output::Output;
use crate::exit_status::ExitStatus;

/// Sample a share of the keys with all their requests, by the spatial hashing of SHARDS.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  manometer trace sample cluster52.csv.zst small.oracleGeneral --rate 0.01")]
pub struct Args {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    output: Output,
    /// Share of the keys, above 0 and up to 1.
    #[arg(long)]
    rate: f64,
}

/// Samples the trace.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    match sample(args) {
        Ok((rate, written)) => args.output.print(&args.input.name(), &written, json!({ "rate": rate })),
        Err(error) => input::refuse(&error),
    }
}

fn sample(args: &Args) -> Result<(f64, WriteSummary), TraceError> {
    let filter = SpatialFilter::of_rate(args.rate)?;
    let trace = args.input.open_with_details(args.output.form.keeps_keys())?;
    Ok((filter.rate(), args.output.write(&mut SampledTrace::new(trace.reader, filter))?))
}
