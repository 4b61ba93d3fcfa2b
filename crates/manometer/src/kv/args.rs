//! The flags of `manometer kv`.

use std::path::PathBuf;

use manometer_measure::{ByteSize, Span};
use manometer_session::find_max::Goal;
use manometer_workload::kv::{ArrivalKind, KeyDistribution, LoadMethod, RateForm};

use crate::output::Format;
use crate::parse::from_name;

/// One key-value workload alone: YCSB or db_bench on an engine.
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
    /// A YCSB properties file, or a core workload by its name: workloada to workloadf. May be repeated: what a
    /// later one says goes before what an earlier one says.
    #[arg(short = 'P', value_name = "FILE", conflicts_with = "workload")]
    pub(super) properties_file: Vec<String>,
    /// A YCSB property that goes before those of the files, or a parameter of db_bench; may be repeated.
    #[arg(short = 'p', value_name = "NAME=VALUE")]
    pub(super) property: Vec<String>,
    /// The workload: ycsb-a to ycsb-f, a YCSB properties file, or a benchmark of db_bench such as fillrandom,
    /// readrandom, readwhilewriting or mixgraph.
    #[arg(long, default_value = "ycsb-b")]
    pub(super) workload: String,
    /// The engine; `manometer engines` lists them.
    #[arg(long, default_value = "rocksdb")]
    pub(super) engine: String,
    /// The engine's own options file.
    #[arg(long, value_name = "FILE")]
    pub(super) options: Option<PathBuf>,
    /// One option of the engine, as it spells it; may be repeated.
    #[arg(long = "option", value_name = "NAME=VALUE", conflicts_with = "options")]
    pub(super) option: Vec<String>,
    /// The size of the engine's memtable, whatever the engine calls that option.
    #[arg(long, value_name = "SIZE", conflicts_with = "options")]
    pub(super) memtable: Option<ByteSize>,
    /// Records in the database.
    #[arg(long)]
    pub(super) records: Option<u64>,
    /// Threads that send requests; the properties' threadcount, or 1, unless said.
    #[arg(long)]
    pub(super) threads: Option<u32>,
    /// Which keys are asked for: uniform, zipfian (exact), ycsb-zipfian, latest, hotspot, exponential, sequential.
    #[arg(long, value_parser = from_name::<KeyDistribution>)]
    pub(super) distribution: Option<KeyDistribution>,
    /// How steeply popularity falls with rank, for zipfian and latest: 0.99 unless said.
    #[arg(long)]
    pub(super) exponent: Option<f64>,
    /// Fields of a record.
    #[arg(long)]
    pub(super) field_count: Option<u32>,
    /// Bytes of each field.
    #[arg(long)]
    pub(super) field_length: Option<u32>,
    /// Bytes of each key of a db_bench workload; 16 unless said.
    #[arg(long)]
    pub(super) key_size: Option<u32>,
    /// Bytes of each value; of a db_bench workload 100 unless said.
    #[arg(long)]
    pub(super) value_size: Option<u32>,
    /// How many requests each thread sends before it waits for their answers.
    #[arg(long, default_value_t = 1)]
    pub(super) pipeline: u32,
    /// End after so many requests, if that is before the time is over; the properties' operationcount unless
    /// this or --seconds is given.
    #[arg(long)]
    pub(super) operations: Option<u64>,
    /// Makes the loop open: requests per second, or a curve (docs/pacing.md).
    #[arg(long, conflicts_with = "think")]
    pub(super) rate: Option<RateForm>,
    /// How the requests of an open loop follow one another: constant or poisson.
    #[arg(long, value_parser = from_name::<ArrivalKind>, default_value = "constant")]
    pub(super) arrivals: ArrivalKind,
    /// How many requests of an open loop may wait before they are dropped [default: 10000].
    #[arg(long)]
    pub(super) queue: Option<u32>,
    /// In a closed loop, how long each thread waits after an answer.
    #[arg(long, value_name = "TIME")]
    pub(super) think: Option<Span>,
    /// Search the highest rate that meets --goal; each rate runs for --seconds. Exit status 3 if none does.
    #[arg(long, conflicts_with_all = ["rate", "think", "operations"])]
    pub(super) find_max: bool,
    /// The goal of --find-max: a percentile of the response time and its longest.
    #[arg(long, default_value = "p99<=50ms", requires = "find_max")]
    pub(super) goal: Goal,
    /// The share of each rate that --find-max wants reached.
    #[arg(long, default_value_t = 0.95, requires = "find_max")]
    pub(super) achieved: f64,
    /// Also write what --find-max found as a page with a chart of latency against rate.
    #[arg(long, value_name = "FILE.html", requires = "find_max")]
    pub(super) out: Option<PathBuf>,
    /// How records come into the database: bulk (sorted) or puts.
    #[arg(long, value_parser = from_name::<LoadMethod>, default_value = "bulk")]
    pub(super) load: LoadMethod,
    /// How long to run, once loaded, in seconds. Unless it is given, a run ends after --operations, else after the
    /// properties' maxexecutiontime or operationcount, else after 10 seconds; a db_bench workload that fills or
    /// deletes in order ends when it is done.
    #[arg(long)]
    pub(super) seconds: Option<f64>,
    /// How long to run before that without counting, in seconds: a database that was just loaded is cold.
    #[arg(long, default_value_t = 0.0, value_name = "SECONDS")]
    pub(super) warmup: f64,
    /// The folder below which the database lies.
    #[arg(long, value_name = "DIR", default_value = "./manometer-data")]
    pub(super) dir: PathBuf,
    /// Use a database that an earlier run left there, if it serves; implies --keep.
    #[arg(long)]
    pub(super) reuse: bool,
    /// Leave the database there for a later run with --reuse.
    #[arg(long)]
    pub(super) keep: bool,
    /// The seed of every random choice.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// The sample interval.
    #[arg(long, default_value = "1s")]
    pub(super) interval: Span,
    /// Keep each thread on one processor.
    #[arg(long)]
    pub(super) pin: bool,
    /// Tell how popular the records would be, and run nothing.
    #[arg(long)]
    pub(super) describe: bool,
    /// For people, or one JSON document for machines.
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}
