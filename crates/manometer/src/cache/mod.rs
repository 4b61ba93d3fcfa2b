//! `manometer cache`: one module per verb.

mod advise;
mod block_size;
mod capacity;
mod cost;
mod curve;
mod error;
mod new_file;
mod simulate;
mod tier;

use crate::exit_status::ExitStatus;
use crate::verbs::verbs;

/// Simulate caches on traces: miss ratios, miss-ratio curves, SSD tiers, their cost.
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
