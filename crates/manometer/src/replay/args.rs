//! The flags of `manometer replay`.

use std::path::PathBuf;

use manometer_measure::Span;
use manometer_session::group::OnLost;
use manometer_workload::replay::{MissAction, ReplayModel, Spread, Timing};

use crate::output::Format;
use crate::parse::from_name;
use crate::trace::input::Input;

/// Replay a trace against an engine and report the fidelity of the replay.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  manometer replay cluster52.csv.zst --engine null --model open --time original --format json
  manometer replay monitor.log --engine redis --load --value-size 100 --time scaled --factor 2
  manometer replay cache.csv --engine memcached --option address=localhost:11211 --on-miss put --processes 4
  manometer replay cache.csv --engine redis --option address=node9:6379 --on 'ssh node1 manometer' --on 'ssh node2 manometer'
  manometer replay twitter.csv --engine redis --spread poisson --give-up-after 5s --require-fidelity
  manometer replay keys.txt --engine rocksdb --model closed-unordered --time full --threads 8 --value-size 1000")]
pub struct Args {
    #[command(flatten)]
    pub(super) input: Input,
    /// Engine; `manometer engines` lists them.
    #[arg(long, default_value = "rocksdb")]
    pub(super) engine: String,
    /// Options file of the engine.
    #[arg(long, value_name = "FILE")]
    pub(super) options: Option<PathBuf>,
    /// Option of the engine, under its own name; may be repeated.
    #[arg(long = "option", value_name = "NAME=VALUE", conflicts_with = "options")]
    pub(super) option: Vec<String>,
    /// Dependencies between requests: open, closed-conservative, closed-per-client or closed-unordered.
    #[arg(long, value_parser = from_name::<ReplayModel>, default_value = "open")]
    pub(super) model: ReplayModel,
    /// Times of the requests: original, scaled (with --factor) or full, which is as fast as possible.
    #[arg(long, value_parser = from_name::<Timing>, default_value = "original")]
    pub(super) time: Timing,
    /// Speed-up with --time scaled: 2 halves the span.
    #[arg(long)]
    pub(super) factor: Option<f64>,
    /// Spread requests that share a time over the step of the trace's clock: uniform, or poisson, at random as arrivals of a
    /// Poisson process. Their order stays. By default they are sent one right after the other.
    #[arg(long, value_parser = from_name::<Spread>)]
    pub(super) spread: Option<Spread>,
    /// Number of threads of each process, and so of requests in flight; by default 16, or 1 where the model demands it
    /// or the engine stores nothing. In an open replay on redis or memcached: of connections, each with any number of
    /// requests in flight.
    #[arg(long)]
    pub(super) threads: Option<u32>,
    /// Number of processes that share the trace, by client or by key, and start together; by default one, or one for
    /// each --on.
    #[arg(long)]
    pub(super) processes: Option<u32>,
    /// Where the processes run, in turn: a command that starts manometer on another host, such as `ssh node2 manometer`, or
    /// `local`; may be repeated. The trace has the same path on each host.
    #[arg(long, value_name = "COMMAND")]
    pub(super) on: Vec<String>,
    /// What the other processes do when one is lost after the start: stop, or continue. The result says who was lost, is
    /// incomplete, and the exit status is 1 in either case.
    #[arg(long, value_parser = from_name::<OnLost>, default_value = "stop")]
    pub(super) on_lost: OnLost,
    /// Load the keys that the trace expects to find, with the sizes in the trace.
    #[arg(long)]
    pub(super) load: bool,
    /// Request after a read miss: nothing, or put, as with a look-aside cache.
    #[arg(long, value_parser = from_name::<MissAction>, default_value = "nothing")]
    pub(super) on_miss: MissAction,
    /// How long an open replay on redis or memcached waits for an answer, also to the last request; by default 30s. Requests
    /// without an answer by then count as failed.
    #[arg(long, value_name = "DURATION")]
    pub(super) give_up_after: Option<Span>,
    /// Size of each value in bytes; by default as in the trace.
    #[arg(long)]
    pub(super) value_size: Option<u32>,
    /// Exit with status 3 if the replay was not faithful, not even to the step of the trace's clock.
    #[arg(long)]
    pub(super) require_fidelity: bool,
    /// Directory of the database.
    #[arg(long, value_name = "DIR", default_value = "./manometer-data")]
    pub(super) dir: PathBuf,
    /// Use the database of an earlier replay, if it fits; implies --keep.
    #[arg(long)]
    pub(super) reuse: bool,
    /// Keep the database for a later replay with --reuse.
    #[arg(long)]
    pub(super) keep: bool,
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Sample interval.
    #[arg(long, default_value = "1s")]
    pub(super) interval: Span,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}

impl Args {
    /// Whether the data is kept for a later replay.
    pub(super) fn keeps(&self) -> bool {
        self.keep || self.reuse
    }

    pub(super) fn processes(&self) -> u32 {
        self.processes.unwrap_or_else(|| u32::try_from(self.on.len()).unwrap_or(u32::MAX).max(1))
    }
}
