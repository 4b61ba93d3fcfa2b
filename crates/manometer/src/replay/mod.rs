//! `manometer replay`: a trace alone, from flags.

pub(crate) mod outcome;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use anyhow::Context as _;
use clap::Args;
use manometer_measure::Span;
use manometer_session::protocol::{DatabaseReuse, Job};
use manometer_session::{alone, together};
use manometer_target::engine::EngineOptions;
use manometer_workload::replay::{Model, OnMiss, ReplaySettings, Share, Timing, TraceFile};
use manometer_workload::settings::WorkloadSettings;

use self::outcome::Outcome;
use crate::format::{self, Format};
use crate::kv::{from_name, pairs, wrong};
use crate::trace::input::Input;
use crate::{DONE, FAILED, NO, run, signals};

/// The folder of the database below `--dir`.
const NAME: &str = "replay";
/// The most processes.
const PROCESSES_MAX: u32 = 64;

/// Send the requests of a trace to an engine at their times, and say how faithfully.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  manometer replay cluster52.csv.zst --engine null --model open --time original --format json
  manometer replay monitor.log --engine redis --load --value-size 100 --time scaled --factor 2
  manometer replay cache.csv --engine memcached --option address=localhost:11211 --on-miss put --processes 4
  manometer replay cache.csv --engine redis --option address=node9:6379 --on 'ssh node1 manometer' --on 'ssh node2 manometer'
  manometer replay keys.txt --engine rocksdb --model closed-unordered --time full --threads 8 --value-size 1000")]
pub struct ReplayArgs {
    #[command(flatten)]
    input: Input,
    /// The engine; `manometer engines` lists them.
    #[arg(long, default_value = "rocksdb")]
    engine: String,
    /// The engine's own options file.
    #[arg(long, value_name = "FILE")]
    options: Option<PathBuf>,
    /// One option of the engine, as it spells it; may be repeated.
    #[arg(long = "option", value_name = "NAME=VALUE", conflicts_with = "options")]
    option: Vec<String>,
    /// Which requests wait for which: open, closed-conservative, closed-per-client or closed-unordered.
    #[arg(long, value_parser = from_name::<Model>, default_value = "open")]
    model: Model,
    /// When requests are sent: original, scaled (with --factor) or full, which is as fast as they are answered.
    #[arg(long, value_parser = from_name::<Timing>, default_value = "original")]
    time: Timing,
    /// How much faster than recorded: 2 halves the span. With --time scaled.
    #[arg(long)]
    factor: Option<f64>,
    /// Threads of each process, and so how many requests may be under way; 1 where the model has it so or the engine
    /// answers at once, else 16.
    #[arg(long)]
    threads: Option<u32>,
    /// Processes that share the trace, by client or by key, and begin at the same time; one, or one on each --on.
    #[arg(long)]
    processes: Option<u32>,
    /// Where the processes run in turn: a command that leads to another host's manometer, such as `ssh node2
    /// manometer`, or `here`; may be repeated. The trace lies at the same path on each.
    #[arg(long, value_name = "COMMAND")]
    on: Vec<String>,
    /// First put the keys that the trace finds there into the database, with the sizes that it tells.
    #[arg(long)]
    load: bool,
    /// What follows a read that found nothing: nothing, or put, as behind a look-aside cache.
    #[arg(long, value_parser = from_name::<OnMiss>, default_value = "nothing")]
    on_miss: OnMiss,
    /// Bytes of each value; as the trace says unless said.
    #[arg(long)]
    value_size: Option<u32>,
    /// End with status 3 if the replay was not faithful.
    #[arg(long)]
    require_fidelity: bool,
    /// The folder below which the database lies.
    #[arg(long, value_name = "DIR", default_value = "./manometer-data")]
    dir: PathBuf,
    /// Use a database that an earlier replay left there, if it serves; implies --keep.
    #[arg(long)]
    reuse: bool,
    /// Leave the database there for a later replay with --reuse.
    #[arg(long)]
    keep: bool,
    /// The seed of every random choice.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The sample interval.
    #[arg(long, default_value = "1s")]
    interval: Span,
    /// For people, or one JSON document for machines.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl ReplayArgs {
    /// Whether the data stay for a later replay.
    fn keeps(&self) -> bool {
        self.keep || self.reuse
    }

    fn processes(&self) -> u32 {
        self.processes.unwrap_or_else(|| u32::try_from(self.on.len()).unwrap_or(u32::MAX).max(1))
    }
}

/// Replays the trace and prints what became of it.
pub fn run(args: &ReplayArgs) -> anyhow::Result<ExitCode> {
    let jobs = match settings(args).and_then(|settings| jobs(args, &settings)) {
        Ok(jobs) => jobs,
        Err(error) => return Ok(wrong(&error)),
    };
    let mut outcome = Outcome::new(args.format == Format::Text, jobs.len());
    let interrupted = signals::interruption()?;
    let ended = match &jobs[..] {
        [job] if args.on.is_empty() => replay_here(job, args.keeps(), &interrupted, &mut outcome)?,
        several => {
            let group = together::run(&run::program(), several, &args.on, &interrupted, &mut outcome);
            group.map_err(|error| (false, error.into()))
        }
    };
    match ended {
        Ok(()) => {}
        Err((true, error)) => return Ok(wrong(&error)),
        // What was measured before is printed, marked as incomplete.
        Err((false, error)) if outcome.is_empty() => return Err(error),
        Err((false, error)) => outcome.fail(&error),
    }
    anyhow::ensure!(!outcome.is_empty(), "stopped before anything was sent");
    outcome.print(args.format)?;
    let unfaithful = args.require_fidelity && !outcome.is_faithful();
    Ok(ExitCode::from(if outcome.has_failed() {
        FAILED
    } else if unfaithful {
        NO
    } else {
        DONE
    }))
}

/// Replays on a thread of this process, and removes the data unless they are to `keep`. The error says whether the request
/// was wrong.
fn replay_here(
    job: &Job,
    keep: bool,
    interrupted: &AtomicBool,
    outcome: &mut Outcome,
) -> anyhow::Result<Result<(), (bool, anyhow::Error)>> {
    // The data are ours to remove: no other process uses them.
    let job = Job { removes: false, ..job.clone() };
    match alone::run(&job, interrupted, outcome) {
        Ok(_) if keep => Ok(Ok(())),
        Ok(data) => Ok(Ok(data.remove().context("removing the data")?)),
        Err(error) => Ok(Err((error.is_wrong_request(), error.into()))),
    }
}

/// The settings that the flags lead to.
fn settings(args: &ReplayArgs) -> anyhow::Result<ReplaySettings> {
    anyhow::ensure!(
        (1..=PROCESSES_MAX).contains(&args.processes()),
        "`--processes` = {}: write a number from 1 to {PROCESSES_MAX}",
        args.processes()
    );
    anyhow::ensure!(
        args.on.iter().all(|on| !on.trim().is_empty()),
        "`--on` is empty: write a command such as `ssh node2 manometer`, or `here`"
    );
    anyhow::ensure!(
        args.input.trace.to_str() != Some("-"),
        "a replay reads its trace twice, first for what it needs: name a file instead of `-`"
    );
    let options = match (&args.options, args.option.is_empty()) {
        (Some(file), _) => Some(EngineOptions::File(file.clone())),
        (None, true) => None,
        (None, false) => {
            let pairs = pairs(&args.option, "--option")?;
            Some(EngineOptions::Table(pairs.into_iter().map(|(name, value)| (name, value.into())).collect()))
        }
    };
    Ok(ReplaySettings {
        engine: args.engine.clone(),
        options,
        file: TraceFile { trace: args.input.trace.clone(), form: args.input.form.clone() },
        model: args.model,
        time: args.time,
        factor: args.factor,
        threads: args.threads,
        load: args.load,
        on_miss: args.on_miss,
        value_size: args.value_size,
        share: None,
    })
}

/// A job for each process.
fn jobs(args: &ReplayArgs, settings: &ReplaySettings) -> anyhow::Result<Vec<Job>> {
    let processes = args.processes();
    let share = |part| (processes > 1).then_some(Share { part, of: processes });
    let job = |part| {
        let settings = ReplaySettings { share: share(part), ..settings.clone() };
        // Refused here, before any process is started; each reads the trace itself.
        settings.validate()?;
        Ok(Job {
            name: NAME.to_owned(),
            directory: args.dir.clone(),
            existing: if args.reuse { DatabaseReuse::Reuse } else { DatabaseReuse::Remake },
            interval_ms: u64::try_from(args.interval.0.as_millis()).unwrap_or(u64::MAX).max(1),
            seed: args.seed.wrapping_add(u64::from(part)),
            removes: part == 0 && !args.keeps(),
            workload: WorkloadSettings::Replay(settings),
        })
    };
    let jobs: Vec<Job> = (0..processes).map(job).collect::<anyhow::Result<_>>()?;
    if jobs.len() > 1 && args.format == Format::Text {
        format::note(&format!("{} processes share the trace", jobs.len()));
    }
    Ok(jobs)
}
