//! The flags of `manometer prepare`.

use std::path::PathBuf;

use crate::output::Format;

/// Precondition the device, load and settle what an experiment needs, keep a snapshot; measure nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer prepare experiments/prepared.toml\n  \
    manometer prepare my.toml --dry-run\n  \
    manometer prepare my.toml --erase /dev/nvme1n1   # destroys what is on it")]
pub struct Args {
    /// The experiment file; of a sweep its first run is prepared.
    pub(super) file: PathBuf,
    /// Change a value of the file: `prepare.settle=45m`, `device.write_budget=200GiB`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// Use databases and files that another experiment left, where they can serve, instead of making them.
    #[arg(long)]
    pub(super) reuse: bool,
    /// Print what would be done, what it writes, and what is left of the write budget; do nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Destroy what is on this whole disk: one partition that leaves `prepare.over_provisioning` of it to no one, the
    /// rest discarded. Refused when it is mounted, in use, or holds anything that is known. Nothing else is done.
    #[arg(long, value_name = "DEVICE", conflicts_with = "dry_run")]
    pub(super) erase: Option<PathBuf>,
    /// For whom to print.
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}
