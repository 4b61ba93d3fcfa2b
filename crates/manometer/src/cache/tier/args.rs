//! The flags of `manometer cache tier`.

use std::path::PathBuf;

use manometer_measure::ByteSize;
use manometer_trace::TraceForm;

use crate::output::Format;

/// Simulate arrangements of devices: memory over an SSD that caches over disks, with what each of them does to a request.
///
/// An arrangement is a file: `arrangements/` has fifteen, with their devices and workloads. What is asked of it is one
/// of its workloads, or a trace.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  manometer cache tier arrangements/4h0.toml arrangements/dmcache-1s-4h0.toml --workload oltp\n  \
    manometer cache tier arrangements/*s-*h*.toml --workload fileserver --format json > results.json\n  \
    manometer cache tier mine.toml --trace src1.csv.zst --threads 16"
)]
pub struct Args {
    /// The arrangements, each a file.
    #[arg(required = true, value_name = "FILE")]
    pub(super) arrangements: Vec<PathBuf>,
    /// Which of their workloads; unless said, all.
    #[arg(long, value_delimiter = ',', conflicts_with = "trace")]
    pub(super) workload: Vec<String>,
    /// Replay a trace instead, plain or compressed.
    #[arg(long)]
    pub(super) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(super) form: TraceForm,
    /// Keep so many requests of the trace under way at any time; unless said, they come at their own times.
    #[arg(long, requires = "trace", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(super) threads: Option<u32>,
    /// Send the trace past the page cache.
    #[arg(long, requires = "trace")]
    pub(super) direct: bool,
    /// What an object takes whose size the trace does not tell.
    #[arg(long, requires = "trace", default_value = "4KiB")]
    pub(super) object_size: ByteSize,
    /// What sizes and periods are divided by, instead of what the files say; a trace is replayed at full size.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "trace")]
    pub(super) scale: Option<u64>,
    /// For people or for machines.
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}
