//! `manometer cache cost`: the cost of arrangements by their throughput.

mod args;
mod json;
mod results;
mod text;

use self::results::cost_results;
use crate::cache::error::refuse;
use crate::exit_status::ExitStatus;

pub use self::args::Args;

/// Reads prices and results, and prints the costs.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let results = match cost_results(args) {
        Ok(results) => results,
        Err(error) => return refuse(&error),
    };
    args.format.print(|| json::document(args, &results), || text::text(args, &results))?;
    let missed = results.verdict.is_some_and(|verdict| verdict.meeting.is_empty());
    Ok(if missed { ExitStatus::No } else { ExitStatus::Done })
}
