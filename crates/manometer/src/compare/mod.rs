//! `manometer compare`: whether recordings differ, by how much, and with what confidence.

mod junit;
mod text;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use manometer_analysis::compare::{CompareError, Comparison, RunSet, SeriesComparison, compare_pair, compare_series};
use manometer_measure::{Share, recording};

use crate::format::{self, Format};
use crate::{DONE, NO, WRONG_REQUEST};

/// Compare recordings phase by phase: ratio, 95 % confidence interval, verdict.
///
/// Two arguments are A and B: each a recording, or a folder of repeats. Three and more are a series in order, searched for
/// change points. Exit status 3 means a regression: the later performance is worse, beyond the bound.
#[derive(Args)]
#[command(after_help = "Examples:\n  manometer compare before after\n  \
    manometer compare before after --bound 3% --format json --junit pressure.xml\n  \
    manometer compare nightly/*   # change points in the series")]
pub struct CompareArgs {
    /// Recordings, or folders of recordings (`runs/001`, `runs/002` …): A and B, or a series in order.
    #[arg(required = true, num_args = 2..)]
    recordings: Vec<PathBuf>,
    /// Ignore differences of less than this share.
    #[arg(long, value_name = "SHARE", default_value = "5%")]
    bound: Share,
    /// Also write the verdicts as JUnit XML: a test per phase, which fails on a regression.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The result of a comparison.
enum Outcome {
    Pair(Comparison),
    Series(SeriesComparison),
}

/// Compares the recordings and prints the result; the exit status reports a regression.
pub fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let outcome = match compare(args) {
        Ok(outcome) => outcome,
        Err(error) => {
            format::problem(&error.into());
            return Ok(ExitCode::from(WRONG_REQUEST));
        }
    };
    if let Some(path) = &args.junit {
        recording::write_file(path, junit::document(&outcome)?.as_bytes())?;
    }
    match (args.format, &outcome) {
        (Format::Json, Outcome::Pair(pair)) => format::json(pair)?,
        (Format::Json, Outcome::Series(series)) => format::json(series)?,
        (Format::Text, Outcome::Pair(pair)) => format::text(&text::pair(pair))?,
        (Format::Text, Outcome::Series(series)) => format::text(&text::series(series))?,
    }
    let has_regression = match &outcome {
        Outcome::Pair(pair) => pair.regressions().next().is_some(),
        Outcome::Series(series) => series.regressions().next().is_some(),
    };
    Ok(ExitCode::from(if has_regression { NO } else { DONE }))
}

fn compare(args: &CompareArgs) -> Result<Outcome, CompareError> {
    let runs = args.recordings.iter().map(|path| RunSet::read(path)).collect::<Result<Vec<_>, _>>()?;
    match runs.as_slice() {
        [a, b] => compare_pair(a, b, args.bound.0).map(Outcome::Pair),
        series => compare_series(series, args.bound.0).map(Outcome::Series),
    }
}
