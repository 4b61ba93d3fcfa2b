//! `manometer array destroy`.

use manometer_lab::array;

use super::refuse;
use crate::exit_status::ExitStatus;
use crate::output;

/// Take an array apart. What is on it is lost.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  manometer array destroy small")]
pub struct Args {
    /// Name of the array.
    name: String,
}

/// Takes the array apart.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    match array::destroy(&args.name) {
        Ok(()) => {
            output::print_text(&format!("{} is taken apart.", args.name))?;
            Ok(ExitStatus::Done)
        }
        Err(error) => refuse(error),
    }
}
