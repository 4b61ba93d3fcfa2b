//! The flags of `manometer kv`.

use std::path::PathBuf;

use manometer_measure::{ByteSize, Span};
use manometer_session::find_max::LatencyGoal;
use manometer_workload::kv::{ArrivalKind, KeyDistribution, LoadMethod, RateForm};

use crate::output::Format;
use crate::parse::from_name;

/// Run one key-value workload: YCSB or db_bench on an engine.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  manometer kv --workload ycsb-b --records 1000000 --threads 2 --seconds 30
  manometer kv -P workloada -p recordcount=1000000 --engine null --seconds 10 --format json
  manometer kv --workload ycsb-c --records 1000000 --distribution ycsb-zipfian --describe
  manometer kv --workload fillrandom --records 1000000 --key-size 16 --value-size 100
  manometer kv --engine rlsm --workload fillrandom --records 1000000 --memtable 1MiB
  manometer kv --workload readwhilewriting --threads 2 -p benchmark_write_rate_limit=2000000
  manometer kv --workload ycsb-a --rate 5000 --arrivals poisson --threads 16 --seconds 30
  manometer kv --workload ycsb-a --threads 16 --find-max --goal 'p99<=20ms' --seconds 10 --out rates.html")]
pub struct Args {
    /// YCSB properties file, or a core workload by name: workloada to workloadf. May be repeated; later files override
    /// earlier ones.
    #[arg(short = 'P', value_name = "FILE", conflicts_with = "workload")]
    pub(super) properties_file: Vec<String>,
    /// YCSB property that overrides those of the files, or a parameter of db_bench; may be repeated.
    #[arg(short = 'p', value_name = "NAME=VALUE")]
    pub(super) property: Vec<String>,
    /// Workload: ycsb-a to ycsb-f, a YCSB properties file, or a benchmark of db_bench such as fillrandom,
    /// readrandom, readwhilewriting or mixgraph.
    #[arg(long, default_value = "ycsb-b")]
    pub(super) workload: String,
    /// Engine; `manometer engines` lists them.
    #[arg(long, default_value = "rocksdb")]
    pub(super) engine: String,
    /// Options file of the engine.
    #[arg(long, value_name = "FILE")]
    pub(super) options: Option<PathBuf>,
    /// Option of the engine, under its own name; may be repeated.
    #[arg(long = "option", value_name = "NAME=VALUE", conflicts_with = "options")]
    pub(super) option: Vec<String>,
    /// Memtable size, mapped to the engine's own option.
    #[arg(long, value_name = "SIZE", conflicts_with = "options")]
    pub(super) memtable: Option<ByteSize>,
    /// Number of records in the database.
    #[arg(long)]
    pub(super) records: Option<u64>,
    /// Number of client threads; by default threadcount of the properties, or 1.
    #[arg(long)]
    pub(super) threads: Option<u32>,
    /// Distribution of the requested keys: uniform, zipfian (exact), ycsb-zipfian, latest, hotspot, exponential,
    /// sequential.
    #[arg(long, value_parser = from_name::<KeyDistribution>)]
    pub(super) distribution: Option<KeyDistribution>,
    /// Exponent of zipfian and latest; by default 0.99.
    #[arg(long)]
    pub(super) exponent: Option<f64>,
    /// Number of fields of a record.
    #[arg(long)]
    pub(super) field_count: Option<u32>,
    /// Size of a field in bytes.
    #[arg(long)]
    pub(super) field_length: Option<u32>,
    /// Size of a key of a db_bench workload in bytes; by default 16.
    #[arg(long)]
    pub(super) key_size: Option<u32>,
    /// Size of a value in bytes; for a db_bench workload by default 100.
    #[arg(long)]
    pub(super) value_size: Option<u32>,
    /// Number of requests that each thread sends before it waits for answers.
    #[arg(long, default_value_t = 1)]
    pub(super) pipeline: u32,
    /// End after this many requests, or after --seconds, whichever is first; by default operationcount of the properties.
    #[arg(long)]
    pub(super) operations: Option<u64>,
    /// Run an open loop at this rate: requests per second, or a curve (docs/pacing.md).
    #[arg(long, conflicts_with = "think")]
    pub(super) rate: Option<RateForm>,
    /// Arrivals of an open loop: constant or poisson.
    #[arg(long, value_parser = from_name::<ArrivalKind>, default_value = "constant")]
    pub(super) arrivals: ArrivalKind,
    /// Longest queue of an open loop; further requests are dropped [default: 10000].
    #[arg(long)]
    pub(super) queue: Option<u32>,
    /// Think time of a closed loop: how long each thread waits after an answer.
    #[arg(long, value_name = "TIME")]
    pub(super) think: Option<Span>,
    /// Search for the highest rate that meets --goal; each rate runs for --seconds. Exit status 3 if none
    /// does, 4 if that cannot be decided.
    #[arg(long, conflicts_with_all = ["rate", "think", "operations"])]
    pub(super) find_max: bool,
    /// Goal of --find-max: a percentile of the response time and its maximum.
    #[arg(long, default_value = "p99<=50ms", requires = "find_max")]
    pub(super) goal: LatencyGoal,
    /// Share of each rate that must be achieved with --find-max.
    #[arg(long, default_value_t = 0.95, requires = "find_max")]
    pub(super) achieved: f64,
    /// Also write the result of --find-max as an HTML page with a chart of latency against rate.
    #[arg(long, value_name = "FILE.html", requires = "find_max")]
    pub(super) out: Option<PathBuf>,
    /// How the database is loaded: bulk (sorted) or puts.
    #[arg(long, value_parser = from_name::<LoadMethod>, default_value = "bulk")]
    pub(super) load: LoadMethod,
    /// Duration of the run in seconds, without the load. By default the run ends after --operations, otherwise after
    /// maxexecutiontime or operationcount of the properties, otherwise after 10 seconds; a db_bench workload that fills or
    /// deletes in order ends when it is done.
    #[arg(long)]
    pub(super) seconds: Option<f64>,
    /// Duration of the warm-up in seconds; its requests do not count.
    #[arg(long, default_value_t = 0.0, value_name = "SECONDS")]
    pub(super) warmup: f64,
    /// Directory of the database.
    #[arg(long, value_name = "DIR", default_value = "./manometer-data")]
    pub(super) dir: PathBuf,
    /// Use the database of an earlier run, if it fits; implies --keep.
    #[arg(long)]
    pub(super) reuse: bool,
    /// Keep the database for a later run with --reuse.
    #[arg(long)]
    pub(super) keep: bool,
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Sample interval.
    #[arg(long, default_value = "1s")]
    pub(super) interval: Span,
    /// Pin each thread to a processor.
    #[arg(long)]
    pub(super) pin: bool,
    /// Print the popularity of the records and run nothing.
    #[arg(long)]
    pub(super) describe: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}
