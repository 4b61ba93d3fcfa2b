//! `manometer compare`: whether recordings differ, by how much, and how sure that is.

mod junit;
mod show;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use manometer_analysis::compare::{self, CompareError, Runs};
use manometer_measure::{Share, recording};

use crate::format::{self, Format};
use crate::{DONE, NO, WRONG_REQUEST};

/// Tell whether recordings differ, phase by phase, by how much and how sure that is.
///
/// Two are A and B: each a recording, or a folder of repeats. Three and more are a series in order, in which change
/// points are looked for. Exit status 3 says that the later one is worse, beyond the bound.
#[derive(Args)]
#[command(after_help = "Examples:\n  manometer compare before after\n  \
    manometer compare before after --bound 3% --format json --junit pressure.xml\n  \
    manometer compare nightly/*   # change points over all of them")]
pub struct Arguments {
    /// Recordings, or folders that hold some (`runs/001`, `runs/002` …): A and B, or a series in order.
    #[arg(required = true, num_args = 2..)]
    recordings: Vec<PathBuf>,
    /// Differences of less than this share do not matter.
    #[arg(long, value_name = "SHARE", default_value = "5%")]
    bound: Share,
    /// Also write the verdicts as JUnit XML: a test per phase, which fails where it is worse.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// For whom to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What was compared.
enum Compared {
    Pair(compare::Comparison),
    Series(compare::SeriesComparison),
}

/// Compares, prints, and says no where something became worse.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let compared = match compared(arguments) {
        Ok(compared) => compared,
        Err(error) => {
            format::problem(&error.into());
            return Ok(ExitCode::from(WRONG_REQUEST));
        }
    };
    if let Some(path) = &arguments.junit {
        recording::write_file(path, junit::document(&compared)?.as_bytes())?;
    }
    match (arguments.format, &compared) {
        (Format::Json, Compared::Pair(pair)) => format::json(pair)?,
        (Format::Json, Compared::Series(series)) => format::json(series)?,
        (Format::Text, Compared::Pair(pair)) => format::text(&show::pair(pair))?,
        (Format::Text, Compared::Series(series)) => format::text(&show::series(series))?,
    }
    let worse = match &compared {
        Compared::Pair(pair) => pair.regressions().next().is_some(),
        Compared::Series(series) => series.regressions().next().is_some(),
    };
    Ok(ExitCode::from(if worse { NO } else { DONE }))
}

fn compared(arguments: &Arguments) -> Result<Compared, CompareError> {
    let read = arguments.recordings.iter().map(|path| Runs::read(path)).collect::<Result<Vec<_>, _>>()?;
    match read.as_slice() {
        [a, b] => compare::pair(a, b, arguments.bound.0).map(Compared::Pair),
        series => compare::series(series, arguments.bound.0).map(Compared::Series),
    }
}
