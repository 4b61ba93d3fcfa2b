//! `manometer cache`: one file per verb below it.

mod advise;
mod block_size;
mod capacity;
mod cost;
mod curve;
mod new_file;
mod simulate;
mod tier;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use manometer_cache::CacheError;

use crate::trace::input;
use crate::{WRONG_REQUEST, format};

/// Caches on paper: what a cache would have done to the requests of a trace, and what it costs.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  manometer cache curve cluster52.csv.zst --policy lru --knee")]
pub struct CacheArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Advise(advise::AdviseArgs),
    Cost(cost::CostArgs),
    Curve(curve::CurveArgs),
    Simulate(simulate::SimulateArgs),
    Tier(tier::TierArgs),
}

/// Does what the verb says.
pub fn run(args: &CacheArgs) -> anyhow::Result<ExitCode> {
    match &args.verb {
        Verb::Advise(args) => advise::run(args),
        Verb::Cost(args) => cost::run(args),
        Verb::Curve(args) => curve::run(args),
        Verb::Simulate(args) => simulate::run(args),
        Verb::Tier(args) => tier::run(args),
    }
}

/// Refuses what cannot be simulated.
fn refuse(error: &CacheError) -> anyhow::Result<ExitCode> {
    match error {
        CacheError::Trace(error) => input::refuse(error),
        CacheError::Invalid(_) => {
            format::note(&format!("manometer: {error}"));
            Ok(ExitCode::from(WRONG_REQUEST))
        }
    }
}
