//! The flags of `manometer replay`.

use std::path::PathBuf;

use manometer_measure::Span;
use manometer_workload::replay::{Model, OnMiss, Timing};

use crate::output::Format;
use crate::parse::from_name;
use crate::trace::input::Input;

/// Send the requests of a trace to an engine at their times, and say how faithfully.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  manometer replay cluster52.csv.zst --engine null --model open --time original --format json
  manometer replay monitor.log --engine redis --load --value-size 100 --time scaled --factor 2
  manometer replay cache.csv --engine memcached --option address=localhost:11211 --on-miss put --processes 4
  manometer replay cache.csv --engine redis --option address=node9:6379 --on 'ssh node1 manometer' --on 'ssh node2 manometer'
  manometer replay keys.txt --engine rocksdb --model closed-unordered --time full --threads 8 --value-size 1000")]
pub struct Args {
    #[command(flatten)]
    pub(super) input: Input,
    /// The engine; `manometer engines` lists them.
    #[arg(long, default_value = "rocksdb")]
    pub(super) engine: String,
    /// The engine's own options file.
    #[arg(long, value_name = "FILE")]
    pub(super) options: Option<PathBuf>,
    /// One option of the engine, as it spells it; may be repeated.
    #[arg(long = "option", value_name = "NAME=VALUE", conflicts_with = "options")]
    pub(super) option: Vec<String>,
    /// Which requests wait for which: open, closed-conservative, closed-per-client or closed-unordered.
    #[arg(long, value_parser = from_name::<Model>, default_value = "open")]
    pub(super) model: Model,
    /// When requests are sent: original, scaled (with --factor) or full, which is as fast as they are answered.
    #[arg(long, value_parser = from_name::<Timing>, default_value = "original")]
    pub(super) time: Timing,
    /// How much faster than recorded: 2 halves the span. With --time scaled.
    #[arg(long)]
    pub(super) factor: Option<f64>,
    /// Threads of each process, and so how many requests may be under way; 1 where the model has it so or the engine
    /// answers at once, else 16.
    #[arg(long)]
    pub(super) threads: Option<u32>,
    /// Processes that share the trace, by client or by key, and begin at the same time; one, or one on each --on.
    #[arg(long)]
    pub(super) processes: Option<u32>,
    /// Where the processes run in turn: a command that leads to another host's manometer, such as `ssh node2
    /// manometer`, or `here`; may be repeated. The trace lies at the same path on each.
    #[arg(long, value_name = "COMMAND")]
    pub(super) on: Vec<String>,
    /// First put the keys that the trace finds there into the database, with the sizes that it tells.
    #[arg(long)]
    pub(super) load: bool,
    /// What follows a read that found nothing: nothing, or put, as behind a look-aside cache.
    #[arg(long, value_parser = from_name::<OnMiss>, default_value = "nothing")]
    pub(super) on_miss: OnMiss,
    /// Bytes of each value; as the trace says unless said.
    #[arg(long)]
    pub(super) value_size: Option<u32>,
    /// End with status 3 if the replay was not faithful.
    #[arg(long)]
    pub(super) require_fidelity: bool,
    /// The folder below which the database lies.
    #[arg(long, value_name = "DIR", default_value = "./manometer-data")]
    pub(super) dir: PathBuf,
    /// Use a database that an earlier replay left there, if it serves; implies --keep.
    #[arg(long)]
    pub(super) reuse: bool,
    /// Leave the database there for a later replay with --reuse.
    #[arg(long)]
    pub(super) keep: bool,
    /// The seed of every random choice.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// The sample interval.
    #[arg(long, default_value = "1s")]
    pub(super) interval: Span,
    /// For people, or one JSON document for machines.
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}

impl Args {
    /// Whether the data stay for a later replay.
    pub(super) fn keeps(&self) -> bool {
        self.keep || self.reuse
    }

    pub(super) fn processes(&self) -> u32 {
        self.processes.unwrap_or_else(|| u32::try_from(self.on.len()).unwrap_or(u32::MAX).max(1))
    }
}
