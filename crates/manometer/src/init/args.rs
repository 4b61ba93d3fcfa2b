//! The flags of `manometer init`: a question that has its flag is not asked.

use std::path::PathBuf;

use manometer_measure::{ByteSize, Span};

use super::neighbour::NeighbourKind;

/// Write a commented experiment for this host, from six questions or their flags.
///
/// On a terminal it asks for what no flag gives; elsewhere, and with --yes, it takes the defaults. It overwrites no
/// experiment, and no file but an `experiment.schema.json` of its own.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  manometer init\n  manometer init redis.toml --engine redis --neighbour backup --time 10m --yes"
)]
pub struct Args {
    /// Experiment file to write.
    #[arg(default_value = "experiment.toml")]
    pub(super) file: PathBuf,
    /// What runs? An engine; `manometer engines` lists them [default: the first of them].
    #[arg(long)]
    pub(super) engine: Option<String>,
    /// What does it do? ycsb-a (half updates), ycsb-b (reads, few updates), ycsb-c (reads), ycsb-e (scans) …
    #[arg(long)]
    pub(super) workload: Option<String>,
    /// How much data does it have?
    #[arg(long)]
    pub(super) data: Option<ByteSize>,
    /// Where? A directory on the disk to measure.
    #[arg(long)]
    pub(super) directory: Option<PathBuf>,
    /// Who disturbs it?
    #[arg(long, value_enum)]
    pub(super) neighbour: Option<NeighbourKind>,
    /// How long may it take?
    #[arg(long)]
    pub(super) time: Option<Span>,
    /// Ask nothing.
    #[arg(long)]
    pub(super) yes: bool,
}
