//! The flags of `manometer cache tier`.

use std::path::PathBuf;

use manometer_measure::ByteSize;
use manometer_trace::TraceForm;

use crate::output::Format;

/// Simulate arrangements of devices: memory before an SSD cache before disks.
///
/// An arrangement is a file: `arrangements/` has fifteen, with their devices and workloads. The load is one of its
/// workloads, or a trace.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  manometer cache tier arrangements/4h0.toml arrangements/dmcache-1s-4h0.toml --workload oltp\n  \
    manometer cache tier arrangements/*s-*h*.toml --workload fileserver --format json > results.json\n  \
    manometer cache tier mine.toml --trace src1.csv.zst --threads 16\n  \
    manometer cache tier arrangements/dmcache-1s-1h.toml --workload read-64KiB --chart warm-up.html"
)]
pub struct Args {
    /// Files of the arrangements.
    #[arg(required = true, value_name = "FILE")]
    pub(super) arrangements: Vec<PathBuf>,
    /// Workloads; by default all.
    #[arg(long, value_delimiter = ',', conflicts_with = "trace")]
    pub(super) workload: Vec<String>,
    /// Replay a trace instead of a workload, plain or compressed.
    #[arg(long)]
    pub(super) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(super) form: TraceForm,
    /// Keep this many requests of the trace in flight; by default they arrive at their own times, and latencies are response
    /// times, from when each request was due.
    #[arg(long, requires = "trace", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(super) threads: Option<u32>,
    /// Bypass the page cache.
    #[arg(long, requires = "trace")]
    pub(super) direct: bool,
    /// Size of objects whose size is not in the trace.
    #[arg(long, requires = "trace", default_value = "4KiB")]
    pub(super) object_size: ByteSize,
    /// Divide sizes and periods by this, instead of by the scale in the files; a trace is replayed at full size.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "trace")]
    pub(super) scale: Option<u64>,
    /// Also write what happens in each of up to 512 intervals as Parquet; the file must be new.
    #[arg(long, value_name = "FILE")]
    pub(super) series: Option<PathBuf>,
    /// Also draw the results, their course and the load on the devices as an HTML page; the file must be new.
    #[arg(long, value_name = "FILE.html")]
    pub(super) chart: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}
