//! `manometer rlsm`: one file per verb below it.

mod bytes;
mod dump;
mod repair;
mod stats;
mod verify;

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use rlsm::{Error, Problem};
use serde_json::{Value, json};

use crate::{FAILED, WRONG_REQUEST, format};

/// Databases of the engine rlsm: what is in them, whether they are whole, and mending them.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  manometer rlsm verify manometer-data/kv/db")]
pub struct RlsmArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Dump(dump::DumpArgs),
    Repair(repair::RepairArgs),
    Stats(stats::StatsArgs),
    Verify(verify::VerifyArgs),
}

/// Does what the verb says.
pub fn run(args: &RlsmArgs) -> anyhow::Result<ExitCode> {
    match &args.verb {
        Verb::Dump(args) => dump::run(args),
        Verb::Repair(args) => repair::run(args),
        Verb::Stats(args) => stats::run(args),
        Verb::Verify(args) => verify::run(args),
    }
}

/// Tells why a database cannot be worked on.
fn refuse(error: &Error) -> ExitCode {
    let is_wrong_request = match error {
        Error::Invalid { .. } => true,
        Error::Io { source, .. } => matches!(source.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
        _ => false,
    };
    format::note(&format!("manometer: {error}"));
    ExitCode::from(if is_wrong_request { WRONG_REQUEST } else { FAILED })
}

/// Problems for machines.
fn problems(problems: &[Problem]) -> Value {
    let one = |problem: &Problem| json!({"file": problem.file, "offset": problem.offset, "what": problem.description});
    problems.iter().map(one).collect()
}
