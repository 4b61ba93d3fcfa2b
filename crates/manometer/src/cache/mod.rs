//! `manometer cache`: one file per verb below it.

mod advise;
mod block_size;
mod capacity;
mod cost;
mod curve;
mod new_file;
mod simulate;
mod tier;

use manometer_cache::CacheError;

use crate::exit_status::ExitStatus;
use crate::output;
use crate::trace::input;
use crate::verbs::verbs;

/// Caches on paper: what a cache would have done to the requests of a trace, and what it costs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  manometer cache curve cluster52.csv.zst --policy lru --knee")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

verbs! {
    Advise => advise,
    Cost => cost,
    Curve => curve,
    Simulate => simulate,
    Tier => tier,
}

/// Runs the verb.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    args.verb.run()
}

/// Refuses what cannot be simulated.
fn refuse(error: &CacheError) -> anyhow::Result<ExitStatus> {
    match error {
        CacheError::Trace(error) => input::refuse(error),
        CacheError::Invalid(_) => {
            output::note(&format!("manometer: {error}"));
            Ok(ExitStatus::WrongRequest)
        }
    }
}
