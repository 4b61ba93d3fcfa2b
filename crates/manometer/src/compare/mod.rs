//! `manometer compare`: whether recordings differ, by how much, and with what confidence.

mod junit;
mod text;

use std::path::PathBuf;

use manometer_analysis::compare::{GateResult, compare};
use manometer_analysis::findings::DAMAGED;
use manometer_measure::{Share, recording};

use crate::exit_status::{ExitStatus, wrong_request};
use crate::output::{self, Format};

/// Compare recordings phase by phase: ratio, 95 % confidence interval, verdict.
///
/// Two recordings are compared as A and B; each may be a directory of repeats. Three or more are a time series,
/// searched for change points. Exit status 0 means that every phase is shown to be no worse, beyond the bound; 3 that
/// one is shown to be worse; 4 that this cannot be decided; 1 that a recording is damaged.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer compare before after\n  \
    manometer compare before after --bound 3% --format json --junit pressure.xml\n  \
    manometer compare nightly/*   # change points in the series")]
pub struct Args {
    /// Recordings, or directories of recordings (`runs/001`, `runs/002` …): A and B, or a time series.
    #[arg(required = true, num_args = 2..)]
    recordings: Vec<PathBuf>,
    /// Ignore differences of less than this share.
    #[arg(long, value_name = "SHARE", default_value = "5%")]
    bound: Share,
    /// Also write the verdicts as JUnit XML: a test per phase, which fails on a regression, and is an error where it cannot
    /// be decided.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Exit with 0 instead of 4 where it cannot be decided; JUnit tests are then skipped instead of errors.
    #[arg(long)]
    allow_undecided: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Compares the recordings and prints the result; the exit status says whether the later one is no worse.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let result = match compare(&args.recordings, args.bound.0) {
        Ok(result) => result,
        Err(error) => return Ok(wrong_request(anyhow::Error::from(error))),
    };
    if let Some(path) = &args.junit {
        recording::write_file(path, junit::document(&result, args.allow_undecided)?.as_bytes())?;
    }
    args.format.print(|| &result, || text::text(&result))?;
    let damaged: Vec<_> = result.findings().iter().filter(|finding| finding.id == DAMAGED.id).collect();
    if !damaged.is_empty() {
        damaged.iter().for_each(|finding| output::note(&format!("{}: {}", finding.id, finding.text)));
        return Ok(ExitStatus::Failed);
    }
    let is_passed = match result.gate() {
        GateResult::NoWorse => Some(true),
        GateResult::Worse => Some(false),
        GateResult::Undecided => None,
    };
    Ok(ExitStatus::of_gate(is_passed, args.allow_undecided))
}
