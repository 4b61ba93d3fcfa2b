//! `manometer schema`: what files hold: the JSON Schema of the experiment file, and the columns of a recording.

use clap::ValueEnum;

use crate::exit_status::ExitStatus;
use crate::output;

/// Print the JSON Schema of the experiment file, for editors, or the columns of a recording.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer schema > experiment.schema.json\n  manometer schema columns")]
pub struct Args {
    /// Of what.
    #[arg(value_enum, default_value_t)]
    what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum What {
    /// The experiment file, as JSON Schema.
    #[default]
    Experiment,
    /// Every sample series and its columns, with units, sources and meanings, as Markdown.
    Columns,
    /// Every finding with its severity, meaning and remedy, as Markdown.
    Findings,
}

/// Prints what was asked for.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    match args.what {
        What::Experiment => output::print_json(&manometer_experiment::file::json_schema())?,
        What::Columns => output::print_text(manometer_experiment::columns::manual().trim_end())?,
        What::Findings => output::print_text(manometer_analysis::rules::manual().trim_end())?,
    }
    Ok(ExitStatus::Done)
}
