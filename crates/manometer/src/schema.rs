//! `manometer schema`: the JSON Schema of the experiment file, and references of columns and findings.

use clap::ValueEnum;

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
    /// All sample series and their columns, with units, sources and meanings, as Markdown.
    Columns,
    /// All findings with severity, meaning and remedy, as Markdown.
    Findings,
}

/// Prints the reference.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    match args.what {
        ReferenceDocument::Experiment => output::print_json(&manometer_experiment::file::json_schema())?,
        ReferenceDocument::Columns => output::print_text(manometer_experiment::columns::manual().trim_end())?,
        ReferenceDocument::Findings => output::print_text(manometer_analysis::rules::manual().trim_end())?,
    }
    Ok(ExitStatus::Done)
}
