//! The flags of `manometer run`.

use std::path::PathBuf;

use manometer_measure::Rate;

use crate::output::Format;
use crate::progress::Form;

/// Run an experiment and leave a recording with its report.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer run experiments/quick.toml\n  \
    manometer run experiments/quick.toml --dry-run\n  \
    manometer run my.toml --set plan.phase=5m --set writer.write_ratio=0.9 --out results/one\n  \
    manometer run one.toml two.toml --out results/all --resume   # go on where it was cut off\n  \
    manometer run experiments/real-vs-synthetic.toml --set trace=cluster52.csv.zst")]
pub struct Args {
    /// Experiment files.
    #[arg(required = true)]
    pub(super) files: Vec<PathBuf>,
    /// Change a value of the file: `plan.phase=5s`, `primary.records=1000`, `writer.write_ratio=0.5`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// The folder of the recording; `manometer-runs/NAME-TIME` unless said.
    #[arg(long)]
    pub(super) out: Option<PathBuf>,
    /// Go on in --out at the first run that is not done; the files and every --set must be those that it began with,
    /// but for `device.write_budget`.
    #[arg(long, requires = "out", conflicts_with = "dry_run")]
    pub(super) resume: bool,
    /// Use databases and files that another experiment left, where they can serve, instead of making them.
    #[arg(long)]
    pub(super) reuse: bool,
    /// Print the resolved file, the phases, the time and the bytes; run nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// What the device can write, such as `500MiB/s`: `--dry-run` then says how much workloads write at most.
    #[arg(long, value_name = "RATE", value_parser = bytes_a_second, requires = "dry_run")]
    pub(super) write_speed: Option<f64>,
    /// How to tell what goes on, on standard error: for people, or events for another program.
    #[arg(long, value_enum, default_value_t)]
    pub(super) progress: Form,
    /// For whom to print.
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}

fn bytes_a_second(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(Rate::Bytes(bytes)) => Ok(bytes as f64),
        _ => Err("write bytes a second, such as `500MiB/s`".to_owned()),
    }
}
