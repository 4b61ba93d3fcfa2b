//! The flags of `manometer run`.

use std::path::PathBuf;

use manometer_measure::Rate;

use crate::output::Format;
use crate::progress::ProgressFormat;

/// Run experiments and write recordings with their report.
///
/// With `[goal]` in the experiment, exit status 0 means that every phase is shown to meet it, 3 that one is shown to miss it,
/// and 4 that this cannot be decided.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer run quick\n  \
    manometer run quick --dry-run\n  \
    manometer run quick --dry-run --earlier results/one\n  \
    manometer run my.toml --set plan.phase=5m --set writer.write_ratio=0.9 --out results/one\n  \
    manometer run one.toml two.toml --out results/all --resume   # after an interruption\n  \
    manometer run real-vs-synthetic --set trace=cluster52.csv.zst   # the key `trace` of this kind")]
pub struct Args {
    /// Experiment files, or names of those that come with Manometer (`manometer experiments`).
    #[arg(required = true)]
    pub(super) files: Vec<PathBuf>,
    /// Change a value of the file: `plan.phase=5s`, `primary.records=1000`, `writer.write_ratio=0.5`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// Directory of the recording; by default `manometer-runs/NAME-TIME`.
    #[arg(long)]
    pub(super) out: Option<PathBuf>,
    /// Continue in --out at the first run that is not done. The files and every --set must be unchanged, except
    /// `device.write_budget`.
    #[arg(long, requires = "out", conflicts_with = "dry_run")]
    pub(super) resume: bool,
    /// Use databases and files of another experiment where they fit, instead of creating them.
    #[arg(long)]
    pub(super) reuse: bool,
    /// Replace databases and files of other experiments in the device directory, instead of refusing to touch them.
    #[arg(long, conflicts_with_all = ["dry_run", "resume"])]
    pub(super) replace: bool,
    /// Wait until no other run uses the disk, instead of refusing to start.
    #[arg(long, conflicts_with = "dry_run")]
    pub(super) wait: bool,
    /// Print the resolved file, the phases, the duration and the bytes written; run nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// With --dry-run: the runs are for other hosts, such as those of a cluster; what this host cannot do is not checked.
    #[arg(long, requires = "dry_run")]
    pub(super) elsewhere: bool,
    /// Write throughput of the device, such as `500MiB/s`, for an upper bound of the bytes in --dry-run.
    #[arg(long, value_name = "RATE", value_parser = bytes_a_second, requires = "dry_run")]
    pub(super) write_speed: Option<f64>,
    /// Earlier recording from which --dry-run estimates how wide the confidence intervals will be, and how long phases
    /// have to be.
    #[arg(long, value_name = "RECORDING", requires = "dry_run")]
    pub(super) earlier: Option<PathBuf>,
    /// Also write whether the goal of the experiment is met as JUnit XML: a test per phase.
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub(super) junit: Option<PathBuf>,
    /// Write OpenMetrics text: what runs, about once a second, then the results of the last run. Not on the measured disk.
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub(super) metrics: Option<PathBuf>,
    /// Exit with 0 instead of 4 where the goal of the experiment cannot be decided.
    #[arg(long)]
    pub(super) allow_undecided: bool,
    /// Format of progress on standard error.
    #[arg(long, value_enum, default_value_t)]
    pub(super) progress: ProgressFormat,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}

fn bytes_a_second(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(Rate::Bytes(bytes)) => Ok(bytes as f64),
        _ => Err("write bytes per second, such as `500MiB/s`".to_owned()),
    }
}
