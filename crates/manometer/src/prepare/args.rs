//! The flags of `manometer prepare`.

use std::path::PathBuf;

use crate::output::Format;

/// Precondition the device, load and settle the data of an experiment, and keep a snapshot; measure nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer prepare prepared\n  \
    manometer prepare my.toml --dry-run\n  \
    manometer prepare my.toml --erase /dev/nvme1n1   # destroys its content")]
pub struct Args {
    /// Experiment file, or the name of one that comes with Manometer; for a sweep, the first run is prepared.
    pub(super) file: PathBuf,
    /// Change a value of the file: `prepare.settle=45m`, `device.write_budget=200GiB`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// Use databases and files of another experiment where they fit, instead of creating them.
    #[arg(long)]
    pub(super) reuse: bool,
    /// Print the steps, the bytes they write, and the rest of the write budget; do nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Destroy the content of this whole disk: create one partition that leaves `prepare.over_provisioning` unallocated,
    /// and discard the rest. Refused if the disk is mounted, in use, or holds a known signature. Nothing else is done.
    #[arg(long, value_name = "DEVICE", conflicts_with = "dry_run")]
    pub(super) erase: Option<PathBuf>,
    /// With `--erase`: also destroy data without a known signature at the disk's beginning or end.
    #[arg(long, requires = "erase")]
    pub(super) erase_unknown_data: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}
