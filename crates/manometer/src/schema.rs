//! `manometer schema`: the JSON Schema of the experiment file.

use std::process::ExitCode;

use clap::Args;

use crate::format;

/// Print the JSON Schema of the experiment file, for editors.
#[derive(Args)]
#[command(after_help = "Example: manometer schema > experiment.schema.json")]
pub struct Arguments {}

/// Prints the schema.
pub fn run(_: &Arguments) -> anyhow::Result<ExitCode> {
    format::json(&manometer_experiment::file::json_schema())?;
    Ok(ExitCode::SUCCESS)
}
