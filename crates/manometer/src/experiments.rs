//! `manometer experiments`: the experiments that come with Manometer.

use manometer_experiment::shipped::{self, EXPERIMENTS};
use manometer_measure::suggest::correction;
use serde_json::json;

use crate::exit_status::{ExitStatus, wrong_request};
use crate::output::{self, Format};

/// List the experiments that come with Manometer, or print one.
///
/// `manometer run NAME` runs one from any directory. To change one, print it into a file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer experiments\n  manometer experiments quick > my.toml")]
pub struct Args {
    /// Experiment to print.
    name: Option<String>,
    /// Output format of the list.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Lists the experiments or prints one.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let Some(name) = &args.name else {
        let all = || EXPERIMENTS.iter().map(|one| json!({ "name": one.name, "about": one.about(), "toml": one.text }));
        args.format.print(|| json!({ "experiments": all().collect::<Vec<_>>() }), list)?;
        return Ok(ExitStatus::Done);
    };
    match shipped::find(name) {
        Some(experiment) => {
            output::print_text(experiment.text.trim_end())?;
            Ok(ExitStatus::Done)
        }
        None => {
            let names = EXPERIMENTS.iter().map(|experiment| experiment.name);
            Ok(wrong_request(format_args!("there is no experiment `{name}`: {}", correction(name, names))))
        }
    }
}

/// A row for each experiment.
fn list() -> String {
    let mut table = crate::table::table(&["experiment", "what it measures"], 2);
    for experiment in EXPERIMENTS {
        table.add_row([experiment.name, first_sentence(&experiment.about())]);
    }
    table.trim_fmt()
}

fn first_sentence(text: &str) -> &str {
    let end = text.match_indices(' ').find(|(at, _)| text[..*at].ends_with(['.', '?', ':', ';']));
    end.map_or(text, |(at, _)| text[..at].trim_end_matches([':', ';']))
}
