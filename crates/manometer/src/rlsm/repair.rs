//! `manometer rlsm repair`: a database again, out of what is left of one.

use std::path::PathBuf;

use rlsm::RepairReport;
use serde_json::json;

use super::{problems, refuse};
use crate::exit_status::ExitStatus;
use crate::output::Format;

/// Write all of a damaged database anew that can still be read.
///
/// It takes as much space as the database again: the old files stay, under names that end with .aside1, to be removed
/// by hand. A database that is whole is left alone. Exit status 3 if something could not be read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  manometer rlsm repair manometer-data/kv/db")]
pub struct Args {
    /// The folder of the database, which is not open elsewhere.
    folder: PathBuf,
    /// For people or for machines.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Repairs what needs it.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let repair = match rlsm::repair(&args.folder) {
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
        return "all is whole: nothing was done".to_owned();
    }
    let RepairReport { runs, batches, entries, .. } = repair;
    let mut lines: Vec<String> = repair.lost.iter().map(|problem| format!("lost: {problem}")).collect();
    if !repair.had_manifest {
        lines.push("there was no manifest to read: keys that were deleted long ago may be there again".to_owned());
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
