//! `manometer init`: an experiment for this host, from six questions or their flags.

mod answers;
mod args;
mod neighbour;
mod questions;
mod text;

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use manometer_experiment::file::{self, SCHEMA_ID, json_schema};
use manometer_measure::recording::write_file;

use self::answers::Answers;
use crate::exit_status::{ExitStatus, wrong_request};
use crate::experiment_error::wrong_file;
use crate::output;

pub use self::args::Args;

/// The schema beside the experiment, for editors.
const SCHEMA: &str = "experiment.schema.json";

/// Asks, writes the experiment and its schema, and says how to go on.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    if args.file.exists() {
        return Ok(wrong_request(format_args!("{} exists: choose another name", args.file.display())));
    }
    let schema = folder_of(&args.file).join(SCHEMA);
    if !may_write_schema(&schema) {
        return Ok(wrong_request(format_args!(
            "{} exists and is not Manometer's: choose another directory",
            schema.display()
        )));
    }
    let experiment = match Answers::of(args).and_then(|answers| Ok((answers.rounds()?, answers))) {
        Ok((rounds, answers)) => text::Experiment { answers, rounds },
        Err(error) => return Ok(wrong_request(error)),
    };
    write_new(&args.file, &experiment.text())?;
    // What was answered may not fit together: a scan on an engine without order.
    if let Err(error) = file::load(&args.file, &[]) {
        fs::remove_file(&args.file)?;
        return Ok(wrong_file(&error));
    }
    write_file(&schema, (serde_json::to_string_pretty(&json_schema())? + "\n").as_bytes())?;
    let name = args.file.display();
    output::print_text(&format!(
        "{name} is an experiment for this host; {} completes it in editors.\nNext:\n  manometer run {name} --dry-run   # \
         what would happen\n  manometer run {name}",
        schema.display()
    ))?;
    Ok(ExitStatus::Done)
}

fn folder_of(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new(""))
}

/// Whether there is no schema yet, or one of another version.
fn may_write_schema(path: &PathBuf) -> bool {
    match fs::read_to_string(path) {
        Ok(text) => text.contains(&format!("\"$id\": \"{SCHEMA_ID}\"")),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// Writes a file that must not exist.
fn write_new(path: &Path, text: &str) -> anyhow::Result<()> {
    let context = |error| anyhow::Error::new(error).context(path.display().to_string());
    let mut file = File::create_new(path).map_err(context)?;
    file.write_all(text.as_bytes()).map_err(context)
}
