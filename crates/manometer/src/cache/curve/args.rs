//! The flags of `manometer cache curve`.

use std::path::PathBuf;

use manometer_cache::PolicySpec;

use super::super::block_size::BlockSize;
use super::super::capacity::Unit;
use crate::output::Format;
use crate::trace::input::Input;

/// Draw miss-ratio curves: the misses of policies over all sizes of their caches.
///
/// LRU's is exact, from one walk over the trace, unless it is made of a sample; every other policy is simulated at each
/// size, on a sample of 65,536 keys where there are more. What is estimated has its 95 % interval beside it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer cache curve OLTP.lis.zst --knee\n  \
    manometer cache curve cluster52.csv.zst --policy lru,arc --samples 8192 --size-aware --chart curves.html")]
pub struct Args {
    #[command(flatten)]
    pub(super) input: Input,
    /// Which policies, each with its parameters if need be; all from one reading of the trace.
    #[arg(long, value_delimiter = ',', default_value = "lru")]
    pub(super) policy: Vec<PolicySpec>,
    /// At which sizes; unless said, at many up to where all keys fit in.
    #[arg(long, value_delimiter = ',')]
    pub(super) capacity: Vec<String>,
    #[command(flatten)]
    pub(super) unit: Unit,
    #[command(flatten)]
    pub(super) blocks: BlockSize,
    /// Take this share of the keys.
    #[arg(long, conflicts_with = "samples")]
    pub(super) rate: Option<f64>,
    /// Take at most so many keys, in memory that does not grow with the trace.
    #[arg(long, value_name = "KEYS", value_parser = clap::value_parser!(u32).range(64..))]
    pub(super) samples: Option<u32>,
    /// Name the sizes where more cache stops paying.
    #[arg(long)]
    pub(super) knee: bool,
    /// Tell how many keys, and bytes with --size-aware, windows of the trace ask for: its working set.
    #[arg(long)]
    pub(super) working_set: bool,
    /// How long these windows are: requests, or a time such as 10min; unless said, of many lengths.
    #[arg(long, value_delimiter = ',', value_name = "LENGTH", requires = "working_set")]
    pub(super) window: Vec<String>,
    /// Draw the curves on a page of their own, a new HTML file.
    #[arg(long, value_name = "FILE.html")]
    pub(super) chart: Option<PathBuf>,
    /// Write the points to a new Parquet file.
    #[arg(long, value_name = "FILE")]
    pub(super) parquet: Option<PathBuf>,
    /// Which keys are in the sample.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// For people or for machines.
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}
