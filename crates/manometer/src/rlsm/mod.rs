//! `manometer rlsm`: one module per verb.

mod bytes;
mod dump;
mod repair;
mod stats;
mod verify;

use std::io::ErrorKind;

use rlsm::{Error, Problem};
use serde_json::{Value, json};

use crate::exit_status::ExitStatus;
use crate::output;
use crate::verbs::verbs;

/// Inspect, verify and repair databases of the engine rlsm.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  manometer rlsm verify manometer-data/kv/db")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

verbs! {
    Dump => dump,
    Repair => repair,
    Stats => stats,
    Verify => verify,
}

/// Runs the verb.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    args.verb.run()
}

/// Prints why a database cannot be read.
fn refuse(error: &Error) -> ExitStatus {
    let is_wrong_request = match error {
        Error::Invalid { .. } => true,
        Error::Io { source, .. } => {
            matches!(source.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied)
        }
        _ => false,
    };
    output::error(error);
    if is_wrong_request { ExitStatus::WrongRequest } else { ExitStatus::Failed }
}

/// Problems as JSON.
fn problems(problems: &[Problem]) -> Value {
    let one = |problem: &Problem| json!({"file": problem.file, "offset": problem.offset, "what": problem.description});
    problems.iter().map(one).collect()
}
