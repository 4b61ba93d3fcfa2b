//! `manometer trace anonymise`: hashed keys and clients.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use manometer_trace::TraceError;
use manometer_trace::transform::anonymise::{Anonymise, Secret};
use manometer_trace::write::WriteSummary;
use serde_json::json;

use super::input::{self, Input};
use super::output::Output;
use crate::exit_status::ExitStatus;
use crate::output;

/// Hash keys and clients with a secret (SipHash-2-4).
///
/// Without the secret, guessed names cannot be tested. Sizes, times and offsets on devices do not change; recorded commands
/// and bounds of scans, which name keys, are left out.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer trace anonymise web.csv public.parquet\n  \
    openssl rand -hex 16 > secret; manometer trace anonymise web.csv public.parquet --secret secret")]
pub struct Args {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    output: Output,
    /// File with 32 hexadecimal digits: traces with the same secret share ids. By default the secret is random and not
    /// kept.
    #[arg(long, value_name = "FILE")]
    secret: Option<PathBuf>,
}

/// Anonymises the trace.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let secret = match &args.secret {
        Some(file) => read_secret(file),
        None => Ok(random_secret()?),
    };
    match secret.and_then(|secret| anonymise(args, secret)) {
        Ok((places, written)) => {
            if places > 0 {
                output::note(&format!("note: {places} requests to devices keep their offsets"));
            }
            args.output.print(&args.input.name(), &written, json!({ "places_kept": places }))
        }
        Err(error) => input::refuse(&error),
    }
}

fn anonymise(args: &Args, secret: Secret) -> Result<(u64, WriteSummary), TraceError> {
    let trace = args.input.open_for_details(args.output.form.keeps_keys())?;
    let mut anonymous = Anonymise::new(trace.reader, secret);
    let written = args.output.write(&mut anonymous)?;
    Ok((anonymous.places(), written))
}

fn read_secret(file: &Path) -> Result<Secret, TraceError> {
    let wrong = |what: String| TraceError::Wrong(format!("{}: {what}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    text.parse().map_err(|error: TraceError| wrong(error.to_string()))
}

fn random_secret() -> anyhow::Result<Secret> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut bytes)).context("/dev/urandom")?;
    Ok(Secret::new(bytes))
}
