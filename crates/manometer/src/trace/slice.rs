//! `manometer trace slice`: a section of a trace.

use manometer_trace::TraceError;
use manometer_trace::transform::slice::{Slice, SliceRange, nanoseconds};
use manometer_trace::write::WriteSummary;
use serde_json::json;

use super::input::{self, Input};
use super::output::Output;
use crate::exit_status::ExitStatus;

/// Cut a section out of a trace; requests keep their times.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer trace slice web.csv begin.csv --seconds 20\n  \
    manometer trace slice web.csv middle.csv --from 3600 --requests 1000000")]
pub struct Args {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    output: Output,
    /// Maximum length in seconds.
    #[arg(long, allow_negative_numbers = true)]
    seconds: Option<f64>,
    /// Maximum number of requests.
    #[arg(long)]
    requests: Option<u64>,
    /// Start, in seconds after the first request.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0, allow_negative_numbers = true)]
    from: f64,
}

/// Slices the trace.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    match slice(args) {
        Ok(written) => args.output.print(&args.input.name(), &written, json!({})),
        Err(error) => input::refuse(&error),
    }
}

fn slice(args: &Args) -> Result<WriteSummary, TraceError> {
    let stretch = SliceRange {
        from_ns: nanoseconds("--from", args.from)?,
        length_ns: args.seconds.map(|seconds| nanoseconds("--seconds", seconds)).transpose()?,
        requests: args.requests,
    };
    if stretch == SliceRange::default() {
        let what = "a slice needs --seconds, --requests or --from";
        return Err(TraceError::Wrong(what.to_owned()));
    }
    let trace = args.input.open_with_details(args.output.form.keeps_keys())?;
    args.output.write(&mut Slice::new(trace.reader, stretch))
}
