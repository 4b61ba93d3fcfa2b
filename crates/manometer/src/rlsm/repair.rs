//! `manometer rlsm repair`: repair of a damaged database.

use std::path::PathBuf;

use rlsm::RepairReport;
use serde_json::json;

use super::{problems, refuse};
use crate::exit_status::ExitStatus;
use crate::output::Format;

/// Rewrite everything of a damaged database that can be read.
///
/// It needs free space equal to the database: the old files are kept as *.aside1 until you remove them. An undamaged
/// database is not changed. Exit status 3 if something could not be read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  manometer rlsm repair manometer-data/kv/db")]
pub struct Args {
    /// Directory of the database; no other process may have it open.
    dir: PathBuf,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Repairs the database and prints what was lost.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let repair = match rlsm::repair(&args.dir) {
        Ok(repair) => repair,
        Err(error) => return Ok(refuse(&error)),
    };
    args.format.print(
        || {
            json!({
                "needed": repair.was_needed,
                "had_manifest": repair.had_manifest,
                "runs": repair.runs,
                "dead_runs": repair.dead_runs,
                "batches": repair.batches,
                "entries": repair.entries,
                "lost": problems(&repair.lost),
                "moved_aside": repair.moved_aside,
            })
        },
        || text(&repair),
    )?;
    Ok(if repair.lost.is_empty() { ExitStatus::Done } else { ExitStatus::No })
}

fn text(repair: &RepairReport) -> String {
    if !repair.was_needed {
        return "the database is undamaged: nothing was changed".to_owned();
    }
    let RepairReport { runs, batches, entries, .. } = repair;
    let mut lines: Vec<String> = repair.lost.iter().map(|problem| format!("lost: {problem}")).collect();
    if !repair.had_manifest {
        lines.push("there was no readable manifest: keys that were deleted long ago may be back".to_owned());
    }
    lines.push(format!("{entries} keys from {runs} runs and {batches} batches of logs are in the new database"));
    lines.push(format!(
        "the old files stay until you remove them: {}",
        repair
            .moved_aside
            .first()
            .map_or_else(String::new, |first| format!("{first} and so on, {} in all", repair.moved_aside.len()))
    ));
    lines.join("\n")
}
