//! The flags of `manometer cache cost`.

use std::path::PathBuf;

use manometer_cache::cost::Goal;

use crate::output::Format;

/// Tell what arrangements of disks and SSDs cost, by their throughput.
///
/// Reads what `manometer cache tier --format json` printed, and prices. Counted is what has to be paid: for whole
/// devices, or by the GB where prices are by the GB, and with --years for energy and for SSDs that wear out too.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    manometer cache cost arrangements/thesis.json --prices arrangements/prices-2015.toml --per-gb\n  \
    manometer cache cost tier.json --prices prices.toml --years 5 --goal 'fileserver>=50MB/s'")]
pub struct Args {
    /// The results of arrangements, as JSON.
    #[arg(required = true, num_args = 1.., value_name = "RESULTS")]
    pub(super) results: Vec<PathBuf>,
    /// What devices cost, as TOML (docs/cache-cost.md has the form).
    #[arg(long)]
    pub(super) prices: PathBuf,
    /// Count prices of a GB instead of what has to be paid: c_a and c_d of the cache thesis.
    #[arg(long, conflicts_with = "years")]
    pub(super) per_gb: bool,
    /// Count energy, and SSDs bought anew as they wear out, over so many years.
    #[arg(long)]
    pub(super) years: Option<f64>,
    /// Take another device's price: `ssd=intel-320`.
    #[arg(long, value_name = "DEVICE=DEVICE")]
    pub(super) priced_as: Vec<String>,
    /// Find the cheapest arrangement that reaches so much: `fileserver>=50MB/s`, `oltp>=1000requests/s`.
    #[arg(long = "goal", value_name = "GOAL")]
    pub(super) goals: Vec<Goal>,
    /// For people or for machines.
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}
