//! `manometer trace scale`: a trace at another speed.

use manometer_trace::TraceError;
use manometer_trace::transform::scale::{Scale, factor_for_rate};
use manometer_trace::write::WriteSummary;
use serde_json::json;

use super::input::{self, Input};
use super::output::Output;
use crate::exit_status::ExitStatus;

/// Scale the times of a trace; the first request keeps its time.
///
/// Times to live are not scaled.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer trace scale web.csv twice.parquet --time 2\n  \
    manometer trace scale web.csv fast.parquet --rate 5000")]
pub struct Args {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    output: Output,
    /// Speed-up: 2 halves the span.
    #[arg(long, value_name = "FACTOR", required_unless_present = "rate", conflicts_with = "rate")]
    time: Option<f64>,
    /// Mean rate of the new trace, in requests per second; reads the trace twice.
    #[arg(long)]
    rate: Option<f64>,
}

/// Scales the trace and prints the factor.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    match scale(args) {
        Ok((factor, written)) => args.output.print(&args.input.name(), &written, json!({ "factor": factor })),
        Err(error) => input::refuse(&error),
    }
}

fn scale(args: &Args) -> Result<(f64, WriteSummary), TraceError> {
    let factor = match (args.time, args.rate) {
        (Some(factor), _) => factor,
        (None, Some(rate)) => factor_for_rate(&args.input.span("--rate")?, rate)?,
        (None, None) => return Err(TraceError::Wrong("write --time or --rate".to_owned())),
    };
    let trace = args.input.open_with_details(args.output.form.keeps_keys())?;
    Ok((factor, args.output.write(&mut Scale::new(trace.reader, factor)?)?))
}
