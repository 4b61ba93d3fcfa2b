//! `manometer schema`: the JSON Schema of the experiment file, and references of columns and findings.

use clap::ValueEnum;
use manometer_cache::tier::series_columns;
use manometer_measure::series::{SeriesDescription, manual_page};

use crate::exit_status::ExitStatus;
use crate::output;

/// Print the JSON Schema of the experiment file, or the reference of columns or findings.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer schema > experiment.schema.json\n  manometer schema columns")]
pub struct Args {
    /// Reference to print.
    #[arg(value_enum, default_value_t)]
    what: ReferenceDocument,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum ReferenceDocument {
    /// The JSON Schema of the experiment file.
    #[default]
    Experiment,
    /// All series and their columns, with units, sources and meanings, as Markdown.
    Columns,
    /// All findings with severity, meaning and remedy, as Markdown.
    Findings,
}

/// Prints the reference.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    match args.what {
        ReferenceDocument::Experiment => output::print_json(&manometer_experiment::file::json_schema())?,
        ReferenceDocument::Columns => output::print_text(columns().trim_end())?,
        ReferenceDocument::Findings => output::print_text(manometer_analysis::rules::manual().trim_end())?,
    }
    Ok(ExitStatus::Done)
}

/// The manual's page of all series: `docs/columns.md`.
fn columns() -> String {
    let mut all = manometer_experiment::columns::series();
    all.push(SeriesDescription::new(
        "cache tier --series",
        "The course of simulated arrangements, in a Parquet file: a row for each of up to 512 intervals, which are equally \
         long but for the last.",
        series_columns(),
    ));
    manual_page(&all)
}

#[cfg(test)]
mod tests {
    use manometer_testing::repository_file;

    use super::*;

    #[test]
    fn the_columns_in_the_manual_are_current() {
        let path = repository_file("docs/columns.md");
        assert!(std::fs::read_to_string(path).unwrap() == columns(), "docs/columns.md is not current: run `make docs`");
    }
}
