//! `manometer rlsm verify`: a check of all data.

use std::path::PathBuf;

use manometer_measure::human::bytes;
use rlsm::VerifyReport;
use serde_json::json;

use super::{problems, refuse};
use crate::exit_status::ExitStatus;
use crate::output::Format;

/// Read a whole database and report damage: checksums, order, ranges, tables, logs.
///
/// No file is changed. Exit status 3 if anything is damaged.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  manometer rlsm verify manometer-data/kv/db")]
pub struct Args {
    /// Directory of the database; no other process may have it open.
    dir: PathBuf,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Reads everything once and prints the problems.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let found = match rlsm::verify(&args.dir) {
        Ok(found) => found,
        Err(error) => return Ok(refuse(&error)),
    };
    args.format.print(
        || {
            json!({
                "sound": found.is_sound(),
                "runs": found.runs,
                "entries": found.entries,
                "bytes": found.bytes,
                "logs": found.logs,
                "torn_bytes": found.torn_bytes,
                "problems": problems(&found.problems),
            })
        },
        || text(&found),
    )?;
    Ok(if found.is_sound() { ExitStatus::Done } else { ExitStatus::No })
}

fn text(found: &VerifyReport) -> String {
    let mut lines = vec![format!(
        "{} runs with {} entries in {}, and {} logs",
        found.runs,
        found.entries,
        bytes(found.bytes),
        found.logs
    )];
    if found.torn_bytes > 0 {
        lines.push(format!("{} bytes at the end of logs were never acknowledged as durable", found.torn_bytes));
    }
    lines.extend(found.problems.iter().map(ToString::to_string));
    lines.push(match found.problems.len() {
        0 => "the database is undamaged".to_owned(),
        1 => "1 problem; `manometer rlsm repair` keeps what can be read".to_owned(),
        count => format!("{count} problems; `manometer rlsm repair` keeps what can be read"),
    });
    lines.join("\n")
}
