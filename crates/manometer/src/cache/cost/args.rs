//! The flags of `manometer cache cost`.

use std::path::PathBuf;

use manometer_cache::cost::CostGoal;

use crate::output::Format;

/// Compute the cost of arrangements of disks and SSDs by their throughput.
///
/// Reads results of `manometer cache tier --format json` and a price list. The cost is that of whole devices, or per GB
/// with --per-gb; with --years it includes energy and the replacement of worn SSDs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    manometer cache cost arrangements/thesis.json --prices arrangements/prices-2015.toml --per-gb\n  \
    manometer cache cost tier.json --prices prices.toml --years 5 --goal 'fileserver>=50MB/s'")]
pub struct Args {
    /// Results of `manometer cache tier --format json`.
    #[arg(required = true, num_args = 1.., value_name = "RESULTS")]
    pub(super) results: Vec<PathBuf>,
    /// Prices of devices, as TOML (docs/cache-cost.md).
    #[arg(long)]
    pub(super) prices: PathBuf,
    /// Compute costs per GB instead of whole devices: c_a and c_d of the cache thesis.
    #[arg(long, conflicts_with = "years")]
    pub(super) per_gb: bool,
    /// Include energy and the replacement of worn SSDs over this many years.
    #[arg(long)]
    pub(super) years: Option<f64>,
    /// Use the price of another device: `ssd=intel-320`.
    #[arg(long, value_name = "DEVICE=DEVICE")]
    pub(super) priced_as: Vec<String>,
    /// Find the cheapest arrangement with at least this throughput: `fileserver>=50MB/s`, `oltp>=1000requests/s`.
    #[arg(long = "goal", value_name = "GOAL")]
    pub(super) goals: Vec<CostGoal>,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}
