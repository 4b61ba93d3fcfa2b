//! `manometer trace subtrace`: some parts of a trace.

use clap::ValueEnum;
use manometer_trace::TraceError;
use manometer_trace::transform::subtrace::{Division, Parts, Subtrace};
use serde_json::json;

use super::input::{self, Input};
use super::output::{Output, Written};
use crate::exit_status::ExitStatus;

/// Take some of the parts that a trace falls into by its clients or by time, at their own times and on their own keys.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer trace subtrace web.csv quarter.parquet 1/4 --by client\n  \
    manometer trace subtrace web.csv most.parquet 1,3-4/4 --by time")]
pub struct Args {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    output: Output,
    /// Which parts of how many: `2/4` is the second of four, `1,3-4/4` are three of them combined.
    #[arg(value_name = "K/N")]
    parts: String,
    /// What makes a part.
    #[arg(long, value_enum)]
    by: By,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    /// All requests of some clients.
    Client,
    /// All requests of a stretch of time; reads the trace twice.
    Time,
}

/// Takes the parts.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    match subtrace(args) {
        Ok(written) => args.output.tell(&args.input.name(), &written, json!({ "parts": args.parts })),
        Err(error) => input::refuse(&error),
    }
}

fn subtrace(args: &Args) -> Result<Written, TraceError> {
    let parts: Parts = args.parts.parse()?;
    let division = match args.by {
        By::Client => Division::Clients,
        By::Time => Division::Time(args.input.span("--by time")?),
    };
    let trace = args.input.open_keeping(args.output.form.keeps_keys())?;
    args.output.write(&mut Subtrace::new(trace.reader, parts, division)?)
}
