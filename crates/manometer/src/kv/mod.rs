//! `manometer kv`: one key-value workload alone, from flags.

mod describe;
mod engine_options;
mod find_max;
pub(crate) mod outcome;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use manometer_measure::{ByteSize, Span, recording};
use manometer_session::alone::{self, Observer};
use manometer_session::error::SessionError;
use manometer_session::find_max::{FindMax, FindMaxRequest, Goal};
use manometer_session::protocol::{Control, DatabaseReuse, Job, Message};
use manometer_workload::kv::{ArrivalKind, KeyDistribution, KvPlan, KvSettings, LoadMethod, PacePlan, RateForm};
use manometer_workload::settings::WorkloadSettings;

use self::engine_options::engine_options;
use self::outcome::Outcome;
use crate::format::{self, Format};
use crate::signals;
use crate::{DONE, NO, WRONG_REQUEST};

/// The folder of the workload below `--dir`.
const NAME: &str = "kv";

/// How long a run lasts where nobody says, in seconds.
const SECONDS: f64 = 10.0;
/// The longest sample interval of a search: a rate is measured in whole intervals.
const FIND_MAX_INTERVAL: Span = Span(Duration::from_millis(100));

/// One key-value workload alone: YCSB or db_bench on an engine.
#[derive(Debug, Args)]
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
pub struct KvArgs {
    /// A YCSB properties file, or a core workload by its name: workloada to workloadf. May be repeated: what a
    /// later one says goes before what an earlier one says.
    #[arg(short = 'P', value_name = "FILE", conflicts_with = "workload")]
    properties_file: Vec<String>,
    /// A YCSB property that goes before those of the files, or a parameter of db_bench; may be repeated.
    #[arg(short = 'p', value_name = "NAME=VALUE")]
    property: Vec<String>,
    /// The workload: ycsb-a to ycsb-f, a YCSB properties file, or a benchmark of db_bench such as fillrandom,
    /// readrandom, readwhilewriting or mixgraph.
    #[arg(long, default_value = "ycsb-b")]
    workload: String,
    /// The engine; `manometer engines` lists them.
    #[arg(long, default_value = "rocksdb")]
    engine: String,
    /// The engine's own options file.
    #[arg(long, value_name = "FILE")]
    options: Option<PathBuf>,
    /// One option of the engine, as it spells it; may be repeated.
    #[arg(long = "option", value_name = "NAME=VALUE", conflicts_with = "options")]
    option: Vec<String>,
    /// The size of the engine's memtable, whatever the engine calls that option.
    #[arg(long, value_name = "SIZE", conflicts_with = "options")]
    memtable: Option<ByteSize>,
    /// Records in the database.
    #[arg(long)]
    records: Option<u64>,
    /// Threads that send requests; the properties' threadcount, or 1, unless said.
    #[arg(long)]
    threads: Option<u32>,
    /// Which keys are asked for: uniform, zipfian (exact), ycsb-zipfian, latest, hotspot, exponential, sequential.
    #[arg(long, value_parser = from_name::<KeyDistribution>)]
    distribution: Option<KeyDistribution>,
    /// How steeply popularity falls with rank, for zipfian and latest: 0.99 unless said.
    #[arg(long)]
    exponent: Option<f64>,
    /// Fields of a record.
    #[arg(long)]
    field_count: Option<u32>,
    /// Bytes of each field.
    #[arg(long)]
    field_length: Option<u32>,
    /// Bytes of each key of a db_bench workload; 16 unless said.
    #[arg(long)]
    key_size: Option<u32>,
    /// Bytes of each value; of a db_bench workload 100 unless said.
    #[arg(long)]
    value_size: Option<u32>,
    /// How many requests each thread sends before it waits for their answers.
    #[arg(long, default_value_t = 1)]
    pipeline: u32,
    /// End after so many requests, if that is before the time is over; the properties' operationcount unless
    /// this or --seconds is given.
    #[arg(long)]
    operations: Option<u64>,
    /// Makes the loop open: requests per second, or a curve (docs/pacing.md).
    #[arg(long, conflicts_with = "think")]
    rate: Option<RateForm>,
    /// How the requests of an open loop follow one another: constant or poisson.
    #[arg(long, value_parser = from_name::<ArrivalKind>, default_value = "constant")]
    arrivals: ArrivalKind,
    /// How many requests of an open loop may wait before they are dropped [default: 10000].
    #[arg(long)]
    queue: Option<u32>,
    /// In a closed loop, how long each thread waits after an answer.
    #[arg(long, value_name = "TIME")]
    think: Option<Span>,
    /// Search the highest rate that meets --goal; each rate runs for --seconds. Exit status 3 if none does.
    #[arg(long, conflicts_with_all = ["rate", "think", "operations"])]
    find_max: bool,
    /// The goal of --find-max: a percentile of the response time and its longest.
    #[arg(long, default_value = "p99<=50ms", requires = "find_max")]
    goal: Goal,
    /// The share of each rate that --find-max wants reached.
    #[arg(long, default_value_t = 0.95, requires = "find_max")]
    achieved: f64,
    /// Also write what --find-max found as a page with a chart of latency against rate.
    #[arg(long, value_name = "FILE.html", requires = "find_max")]
    out: Option<PathBuf>,
    /// How records come into the database: bulk (sorted) or puts.
    #[arg(long, value_parser = from_name::<LoadMethod>, default_value = "bulk")]
    load: LoadMethod,
    /// How long to run, once loaded, in seconds. Unless it is given, a run ends after --operations, else after the
    /// properties' maxexecutiontime or operationcount, else after 10 seconds; a db_bench workload that fills or
    /// deletes in order ends when it is done.
    #[arg(long)]
    seconds: Option<f64>,
    /// How long to run before that without counting, in seconds: a database that was just loaded is cold.
    #[arg(long, default_value_t = 0.0, value_name = "SECONDS")]
    warmup: f64,
    /// The folder below which the database lies.
    #[arg(long, value_name = "DIR", default_value = "./manometer-data")]
    dir: PathBuf,
    /// Use a database that an earlier run left there, if it serves; implies --keep.
    #[arg(long)]
    reuse: bool,
    /// Leave the database there for a later run with --reuse.
    #[arg(long)]
    keep: bool,
    /// The seed of every random choice.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The sample interval.
    #[arg(long, default_value = "1s")]
    interval: Span,
    /// Keep each thread on one processor.
    #[arg(long)]
    pin: bool,
    /// Tell how popular the records would be, and run nothing.
    #[arg(long)]
    describe: bool,
    /// For people, or one JSON document for machines.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Reads a name as experiment files spell it.
pub(crate) fn from_name<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(text.into()).map_err(|error| error.to_string())
}

/// Runs the workload and prints what it did.
pub fn run(args: &KvArgs) -> anyhow::Result<ExitCode> {
    let (settings, seconds) = match settings(args).and_then(|settings| planned(args, settings)) {
        Ok(planned) => planned,
        Err(error) => return Ok(wrong(&error)),
    };
    if args.describe {
        return describe::print(&settings, args.format);
    }
    let pace = KvPlan::new(&settings)?.pace;
    let interval = if args.find_max { args.interval.min(FIND_MAX_INTERVAL) } else { args.interval };
    let job = Job {
        name: NAME.to_owned(),
        directory: args.dir.clone(),
        existing: if args.reuse { DatabaseReuse::Reuse } else { DatabaseReuse::Remake },
        interval_ms: u64::try_from(interval.0.as_millis()).unwrap_or(u64::MAX).max(1),
        seed: args.seed,
        removes: false,
        workload: WorkloadSettings::Kv(settings.clone()),
    };
    if args.find_max {
        return find_max(args, &job, seconds);
    }
    let mut outcome = Outcome::new(args.format == Format::Text, pace, [args.warmup, seconds]);
    if let Err(error) = run_alone(args, &job, &mut outcome)? {
        return failed(error);
    }
    anyhow::ensure!(!outcome.is_empty(), "stopped before anything was measured");
    outcome.print(args.format)?;
    Ok(ExitCode::SUCCESS)
}

/// Searches the highest rate, and prints it.
fn find_max(args: &KvArgs, job: &Job, seconds: f64) -> anyhow::Result<ExitCode> {
    let request = FindMaxRequest { goal: args.goal, achieved: args.achieved, seconds };
    let mut search = FindMax::new(request, |measured| format::note(&find_max::rate_text(measured, args.goal)));
    if let Err(error) = run_alone(args, job, &mut search)? {
        return failed(error);
    }
    let met = find_max::is_met(&search)?;
    match args.format {
        Format::Json => format::json(&find_max::json(&search))?,
        Format::Text => format::text(&find_max::text(&search))?,
    }
    if let Some(out) = &args.out {
        recording::write_file(out, find_max::page(&search).as_bytes())?;
        format::note(&format!("latency against rate: {}", out.display()));
    }
    Ok(ExitCode::from(if met { DONE } else { NO }))
}

/// Runs the workload to its end and removes the data that nobody wants to keep.
fn run_alone(args: &KvArgs, job: &Job, observer: &mut dyn Observer) -> anyhow::Result<Result<(), SessionError>> {
    let mut observer = LoadingBar::new(observer);
    let data = match alone::run(job, &*signals::interruption()?, &mut observer) {
        Ok(data) => data,
        Err(error) => return Ok(Err(error)),
    };
    if !args.keep && !args.reuse {
        data.remove().context("removing the data")?;
    }
    Ok(Ok(()))
}

/// The work failed, or, where the flags could have known, the request was wrong.
fn failed(error: SessionError) -> anyhow::Result<ExitCode> {
    if error.is_wrong_request() { Ok(wrong(&error.into())) } else { Err(error.into()) }
}

/// Draws a bar while the database is loaded, and passes everything else on.
struct LoadingBar<'a> {
    bar: ProgressBar,
    observer: &'a mut dyn Observer,
}

impl<'a> LoadingBar<'a> {
    fn new(observer: &'a mut dyn Observer) -> Self {
        let style = ProgressStyle::with_template("loading {bar:40} {human_pos}/{human_len} records, {eta} left");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        Self { bar: ProgressBar::new(0).with_style(style), observer }
    }
}

impl Observer for LoadingBar<'_> {
    fn receive(&mut self, message: Message, received_ns: u64) -> Vec<Control> {
        if let Message::Progress { done, total, .. } = message {
            self.bar.set_length(total);
            self.bar.set_position(done);
            return Vec::new();
        }
        self.bar.finish_and_clear();
        self.observer.receive(message, received_ns)
    }

    fn is_over(&self, now_ns: u64) -> bool {
        self.observer.is_over(now_ns)
    }
}

/// What the flags ask for.
fn settings(args: &KvArgs) -> anyhow::Result<KvSettings> {
    if let Some(out) = &args.out {
        let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        anyhow::ensure!(
            !out.is_dir() && folder.is_dir(),
            "`--out` {}: write a file in a folder that exists",
            out.display()
        );
    }
    let good = |seconds: f64| (0.0..1e9).contains(&seconds);
    if let Some(seconds) = args.seconds {
        anyhow::ensure!(good(seconds) && seconds > 0.0, "`--seconds` = {seconds}: write a number above 0");
    }
    anyhow::ensure!(good(args.warmup), "`--warmup` = {}: write a number from 0", args.warmup);
    anyhow::ensure!(
        args.achieved > 0.0 && args.achieved <= 1.0,
        "`--achieved` = {}: write a share up to 1",
        args.achieved
    );
    Ok(KvSettings {
        engine: args.engine.clone(),
        options: engine_options(args)?,
        workload: args.properties_file.first().unwrap_or(&args.workload).clone(),
        properties_files: args.properties_file.iter().skip(1).cloned().collect(),
        records: args.records,
        threads: args.threads,
        distribution: args.distribution,
        exponent: args.exponent,
        field_count: args.field_count,
        field_length: args.field_length,
        key_size: args.key_size,
        value_size: args.value_size,
        operations: args.operations,
        pipeline: args.pipeline,
        pin: args.pin,
        load: args.load,
        properties: pairs(&args.property, "-p")?,
        rate: args.rate.clone(),
        arrivals: args.arrivals,
        queue: args.queue,
        think: args.think,
        ..KvSettings::default()
    })
}

/// The settings with the run's length in them, and how many seconds it lasts at most. What a flag says
/// goes before what a file of properties says: the count of a file does not cut short `--seconds`.
fn planned(args: &KvArgs, mut settings: KvSettings) -> anyhow::Result<(KvSettings, f64)> {
    let plan = KvPlan::new(&settings)?;
    if args.find_max {
        return searched(args, &plan, settings);
    }
    let said = plan.properties_say;
    let by_flag = args.seconds.is_some() || args.operations.is_some();
    let heeded = |name| !by_flag || settings.properties.contains_key(name);
    let operation_count = said.operation_count.filter(|_| heeded("operationcount"));
    let max_execution_s = said.max_execution_s.filter(|_| heeded("maxexecutiontime")).map(|seconds| seconds as f64);
    // What a fill is for is done after so many requests, however long that takes.
    let round = plan.work.round().filter(|_| args.seconds.is_none()).map(|round| plan.operations.unwrap_or(round));
    let is_counted = if by_flag { args.operations.is_some() } else { operation_count.is_some() };
    let for_ever = round.is_some() || is_counted;
    settings.operations = settings.operations.or(operation_count).or(round);
    for note in KvPlan::new(&settings)?.notes {
        format::note(&format!("note: {note}"));
    }
    let unless_said = if for_ever { f64::INFINITY } else { SECONDS };
    Ok((settings, args.seconds.or(max_execution_s).unwrap_or(unless_said)))
}

/// The settings of a search, and how many seconds each of its steps lasts: it goes on until it has found what
/// it looks for, in an open loop of its own.
fn searched(args: &KvArgs, plan: &KvPlan, settings: KvSettings) -> anyhow::Result<(KvSettings, f64)> {
    anyhow::ensure!(
        plan.operations.is_none() && plan.work.round().is_none(),
        "`--find-max` cannot search with a workload that ends after so many requests: leave the number out"
    );
    anyhow::ensure!(
        plan.pace == PacePlan::Closed && plan.pipeline == 1,
        "`--find-max` sets the rate itself, one request at a time: leave `rate`, `target`, `think` and `--pipeline` out"
    );
    plan.notes.iter().for_each(|note| format::note(&format!("note: {note}")));
    Ok((settings, args.seconds.unwrap_or(SECONDS)))
}

pub(crate) fn pairs(texts: &[String], flag: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let pair = |text: &String| {
        let (name, value) = text.split_once('=').with_context(|| format!("`{flag} {text}`: write NAME=VALUE"))?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    texts.iter().map(pair).collect()
}

pub(crate) fn wrong(error: &anyhow::Error) -> ExitCode {
    format::problem(error);
    ExitCode::from(WRONG_REQUEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        kv: KvArgs,
    }

    #[test]
    fn requests_that_are_counted_take_as_long_as_they_take() {
        let seconds = |flags: &str| {
            let words = "kv --engine null --workload ycsb-c --records 10".split(' ').chain(flags.split_whitespace());
            let args = Line::parse_from(words).kv;
            planned(&args, settings(&args).unwrap()).unwrap().1
        };
        assert_eq!(seconds(""), SECONDS);
        assert_eq!(seconds("--operations 5"), f64::INFINITY);
        assert_eq!(seconds("--operations 5 --seconds 3"), 3.0);
        assert_eq!(seconds("-p operationcount=5"), f64::INFINITY);
        assert_eq!(seconds("-p operationcount=5 --seconds 3"), 3.0);
    }
}
