//! `manometer array`: one module per verb.

mod create;
mod destroy;
mod recorded;
mod status;

use manometer_lab::LabError;

pub use self::recorded::RecordedCounters;
use self::status::counters_text;

use crate::exit_status::{ExitStatus, wrong_request};
use crate::verbs::verbs;

/// Build the arrangements of `cache tier` of this host's devices: RAID by md, caches by bcache or dm-cache.
///
/// Needs root. `manometer lab` does the same in a virtual machine, for anyone.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  manometer array create arrangements/dmcache-1s-1h.toml --origin /dev/sdb --cache /dev/nvme1n1 --mount /mnt/array"
)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

verbs! {
    Create => create,
    Status => status,
    Destroy => destroy,
}

/// Runs the verb.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    args.verb.run()
}

/// Reports a wrong request, or passes on another error.
pub fn refuse(error: LabError) -> anyhow::Result<ExitStatus> {
    match error {
        LabError::Refused(text) => Ok(wrong_request(text)),
        other => Err(other.into()),
    }
}
