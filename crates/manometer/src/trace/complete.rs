//! `manometer trace complete`: the missing inserts of a trace.

use manometer_trace::TraceError;
use manometer_trace::transform::complete::MissingInserts;
use manometer_trace::write::WriteSummary;
use serde_json::json;

use super::input::{self, Input};
use super::output::Output;
use crate::exit_status::ExitStatus;

/// Find the missing inserts of a trace: keys that are used before they are inserted.
///
/// Writes a trace of these inserts for a load phase, or the whole trace with each insert at a given time before the first
/// use of its key. Failed requests and block traces are not considered.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer trace complete web.csv load.parquet --load\n  \
    manometer trace complete web.csv whole.parquet --before-ms 10")]
pub struct Args {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    output: Output,
    /// Write the missing inserts only, without times, to load before the trace.
    #[arg(long, required_unless_present = "before_ms", conflicts_with = "before_ms")]
    load: bool,
    /// Write the whole trace, each missing insert this many milliseconds before the first use of its key.
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    before_ms: Option<f64>,
}

/// Completes the trace and prints the number of missing inserts.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    match complete(args) {
        Ok((missing, written)) => args.output.print(&args.input.name(), &written, json!({ "missing": missing })),
        Err(error) => input::refuse(&error),
    }
}

fn complete(args: &Args) -> Result<(usize, WriteSummary), TraceError> {
    let before_ns = args.before_ms.map(before_ns).transpose()?;
    if before_ns.is_some() {
        args.input.need_file("--before-ms")?;
    }
    let keep_keys = args.output.form.keeps_keys();
    let inserts = MissingInserts::read(args.input.open_with_details(keep_keys)?.reader)?;
    let missing = inserts.len();
    let written = match before_ns {
        Some(before_ns) => {
            let again = args.input.open_with_details(keep_keys)?.reader;
            args.output.write(&mut inserts.into_trace(again, before_ns)?)?
        }
        None => args.output.write(inserts.to_load().as_mut())?,
    };
    Ok((missing, written))
}

fn before_ns(milliseconds: f64) -> Result<u64, TraceError> {
    match milliseconds * 1e6 {
        nanoseconds if (0.0..1e19).contains(&nanoseconds) => Ok(nanoseconds.round() as u64),
        _ => Err(TraceError::Wrong(format!("--before-ms is {milliseconds}: write milliseconds, 0 or more"))),
    }
}
