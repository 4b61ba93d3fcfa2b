//! `manometer trace subtrace`: parts of a trace.

use clap::ValueEnum;
use manometer_trace::TraceError;
use manometer_trace::transform::subtrace::{Division, Parts, Subtrace};
use manometer_trace::write::WriteSummary;
use serde_json::json;

use super::input::{self, Input};
use super::output::Output;
use crate::exit_status::ExitStatus;

/// Divide a trace by clients or by time, and keep some of the parts with their times and keys.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer trace subtrace web.csv quarter.parquet 1/4 --by client\n  \
    manometer trace subtrace web.csv most.parquet 1,3-4/4 --by time")]
pub struct Args {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    output: Output,
    /// Parts: `2/4` is the second of four, `1,3-4/4` are three of four.
    #[arg(value_name = "K/N")]
    parts: String,
    /// How the trace is divided.
    #[arg(long, value_enum)]
    by: SplitCriterion,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SplitCriterion {
    /// By client.
    Client,
    /// By time; reads the trace twice.
    Time,
}

/// Writes the parts.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    match subtrace(args) {
        Ok(written) => args.output.print(&args.input.name(), &written, json!({ "parts": args.parts })),
        Err(error) => input::refuse(&error),
    }
}

fn subtrace(args: &Args) -> Result<WriteSummary, TraceError> {
    let parts: Parts = args.parts.parse()?;
    let division = match args.by {
        SplitCriterion::Client => Division::Clients,
        SplitCriterion::Time => Division::Time(args.input.span("--by time")?),
    };
    let trace = args.input.open_with_details(args.output.form.keeps_keys())?;
    args.output.write(&mut Subtrace::new(trace.reader, parts, division)?)
}
