//! `manometer trace convert`: the same requests in another format.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use manometer_trace::write::{Losses, OutputFormat, TraceWriter, create};
use manometer_trace::{Trace, TraceError};
use serde_json::json;

use super::input::{self, Input};
use crate::format::{self, Format};
use crate::{DONE, FAILED};

/// Write a trace in another format: Parquet, oracleGeneral, KV-replay, CSV or fio's iolog.
///
/// What the format cannot hold is told. A damaged trace is converted up to its last good record.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  manometer trace convert OLTP.lis.zst OLTP.oracleGeneral\n  \
    manometer trace convert live.blkparse live.parquet")]
pub struct ConvertArgs {
    #[command(flatten)]
    input: Input,
    /// The new file; made, and never replaced.
    out: PathBuf,
    /// parquet, oracle-general, kv-replay, csv or fio-iolog, where the name of the new file does not say it.
    #[arg(long, value_name = "FORMAT")]
    output_format: Option<String>,
    /// Do not keep the texts of keys, which take memory: write their ids.
    #[arg(long)]
    no_key_texts: bool,
    /// For people or for machines.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Reads one batch after the other, and writes it.
pub fn run(args: &ConvertArgs) -> anyhow::Result<ExitCode> {
    let (output_format, mut trace, mut writer) = match begin(args) {
        Ok(all) => all,
        Err(error) => return input::refuse(&error),
    };
    let (requests, damage) = match copy(&mut trace, writer.as_mut()) {
        Ok(copied) => copied,
        Err(error) => {
            // Half a trace in a format that cannot hold it is no use to anybody.
            let _ = std::fs::remove_file(&args.out);
            return input::refuse(&error);
        }
    };
    let losses = writer.finish()?;
    tell(args, trace.format.name, output_format.name, requests, &losses)?;
    Ok(ExitCode::from(match damage {
        None => DONE,
        Some(error) => {
            input::tell_damage(&args.input.name(), requests, &error);
            FAILED
        }
    }))
}

type Begun = (&'static OutputFormat, Trace, Box<dyn TraceWriter>);

fn begin(args: &ConvertArgs) -> Result<Begun, TraceError> {
    let output_format = match &args.output_format {
        Some(name) => OutputFormat::find(name)?,
        None => OutputFormat::of_path(&args.out)?,
    };
    let trace = args.input.open(&args.input.options(!args.no_key_texts)?)?;
    let writer = create(&args.out, output_format)?;
    Ok((output_format, trace, writer))
}

/// The requests that were copied, and what ended them before the end.
fn copy(trace: &mut Trace, writer: &mut dyn TraceWriter) -> Result<(u64, Option<TraceError>), TraceError> {
    let (mut requests, mut batch) = (0, Vec::new());
    loop {
        match trace.reader.read(&mut batch) {
            Ok(0) => return Ok((requests, None)),
            Ok(read) => {
                writer.write(&batch, trace.reader.keys())?;
                requests += read as u64;
            }
            Err(error) => return Ok((requests, Some(error))),
        }
    }
}

fn tell(args: &ConvertArgs, from: &str, to: &str, requests: u64, losses: &Losses) -> anyhow::Result<()> {
    for (what, count) in &losses.0 {
        format::note(&format!("note: {to} does not hold this of {count} requests: {what}"));
    }
    match args.format {
        Format::Json => format::json(&json!({
            "requests": requests, "from": from, "to": to, "file": args.out, "losses": losses.0,
        })),
        Format::Text => format::text(&format!("{}: {requests} requests, from {from} to {to}", args.out.display())),
    }
}
