//! The flags of `manometer cache curve`.

use std::path::PathBuf;

use manometer_cache::PolicySpec;
use manometer_cache::curve::{MissRatioCurve, MissRatioCurves};

use super::super::block_size::BlockSize;
use super::super::capacity::Unit;
use crate::output::Format;
use crate::trace::input::Parts;

/// Compute miss-ratio curves: the miss ratio of each policy over all cache sizes.
///
/// The curve of LRU is exact and takes one pass over the trace, unless keys are sampled. Every other policy is simulated
/// at each size, on a sample of 65,536 keys where there are more. Estimates have 95 % confidence intervals.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer cache curve OLTP.lis.zst --knee\n  \
    manometer cache curve cluster52.csv.zst --policy lru,arc --samples 8192 --size-aware --chart curves.html")]
pub struct Args {
    #[command(flatten)]
    pub(super) input: Parts,
    /// Policies, optionally with parameters; the trace is read once for all.
    #[arg(long, value_delimiter = ',', default_value = "lru")]
    pub(super) policy: Vec<PolicySpec>,
    /// Cache sizes; by default many, up to the size of all keys.
    #[arg(long, value_delimiter = ',')]
    pub(super) capacity: Vec<String>,
    #[command(flatten)]
    pub(super) unit: Unit,
    #[command(flatten)]
    pub(super) blocks: BlockSize,
    /// Sample this share of the keys.
    #[arg(long, conflicts_with = "samples")]
    pub(super) rate: Option<f64>,
    /// Sample at most this many keys, in memory that does not grow with the trace.
    #[arg(long, value_name = "KEYS", value_parser = clap::value_parser!(u32).range(64..))]
    pub(super) samples: Option<u32>,
    /// Report the knees: the sizes from which the curve falls less steeply.
    #[arg(long)]
    pub(super) knee: bool,
    /// Report the working set: the keys, and bytes with --size-aware, requested in windows of the trace.
    #[arg(long)]
    pub(super) working_set: bool,
    /// Lengths of these windows: requests, or a duration such as 10min; many by default.
    #[arg(long, value_delimiter = ',', value_name = "LENGTH", requires = "working_set")]
    pub(super) window: Vec<String>,
    /// Also write the curves as an HTML page; the file must be new.
    #[arg(long, value_name = "FILE.html")]
    pub(super) chart: Option<PathBuf>,
    /// Also write the points as Parquet; the file must be new.
    #[arg(long, value_name = "FILE")]
    pub(super) parquet: Option<PathBuf>,
    /// Seed of the sample.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}

impl Args {
    /// The policies with their curves.
    pub(super) fn named_curves<'a>(
        &'a self,
        result: &'a MissRatioCurves,
    ) -> impl Iterator<Item = (&'a PolicySpec, &'a MissRatioCurve)> {
        self.policy.iter().zip(&result.curves)
    }
}
