//! `manometer run`: experiments become recordings.

mod dry;
mod real_vs_synthetic;
mod set;
mod single;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use clap::Args;
use manometer_experiment::conductor::{self, RunError};
use manometer_experiment::experiment::format_settings;
use manometer_experiment::isolate::{self, IsolateError};
use manometer_experiment::lock::LockError;
use manometer_experiment::prepare::check_power_states;
use manometer_experiment::prepare::ledger::LedgerEntries;
use manometer_experiment::queue::forecast::PreparationForecast;
use manometer_experiment::queue::{PlannedSet, QueueError};
use manometer_experiment::setup::RunSetup;
use manometer_experiment::{Experiment, file, plan, queue};
use manometer_measure::clock::WallAnchor;
use manometer_measure::event::RunStatus;
use manometer_measure::human;
use manometer_measure::{Rate, RecordingError};
use manometer_report::AnalysedRecording;
use miette::GraphicalReportHandler;
use serde_json::json;

use crate::format::{self, Format};
use crate::progress::{Form, Progress};
use crate::{DONE, FAILED, WRONG_REQUEST, report, table};

/// Run an experiment and leave a recording with its report.
#[derive(Args)]
#[command(after_help = "Examples:\n  manometer run experiments/quick.toml\n  \
    manometer run experiments/quick.toml --dry-run\n  \
    manometer run my.toml --set plan.phase=5m --set writer.write_ratio=0.9 --out results/one\n  \
    manometer run one.toml two.toml --out results/all --resume   # go on where it was cut off\n  \
    manometer run experiments/real-vs-synthetic.toml --set trace=cluster52.csv.zst")]
pub struct Arguments {
    /// Experiment files.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Change a value of the file: `plan.phase=5s`, `primary.records=1000`, `writer.write_ratio=0.5`.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// The folder of the recording; `manometer-runs/NAME-TIME` unless said.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Go on in --out at the first run that is not done; the files and every --set must be those that it began with,
    /// but for `device.write_budget`.
    #[arg(long, requires = "out", conflicts_with = "dry_run")]
    resume: bool,
    /// Use databases and files that another experiment left, where they can serve, instead of making them.
    #[arg(long)]
    reuse: bool,
    /// Print the resolved file, the phases, the time and the bytes; run nothing.
    #[arg(long)]
    dry_run: bool,
    /// What the device can write, such as `500MiB/s`: `--dry-run` then says how much workloads write at most.
    #[arg(long, value_name = "RATE", value_parser = bytes_a_second, requires = "dry_run")]
    write_speed: Option<f64>,
    /// How to tell what goes on, on standard error: for people, or events for another program.
    #[arg(long, value_enum, default_value_t)]
    progress: Form,
    /// For whom to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn bytes_a_second(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(Rate::Bytes(bytes)) => Ok(bytes as f64),
        _ => Err("write bytes a second, such as `500MiB/s`".to_owned()),
    }
}

/// Runs, or shows what would run.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if real_vs_synthetic::is_asked_for(arguments) {
        return real_vs_synthetic::run(arguments);
    }
    let mut files: Vec<(PathBuf, Experiment)> = Vec::new();
    for path in &arguments.files {
        match file::load(path, &arguments.set) {
            Ok(experiment) => files.push((path.clone(), experiment)),
            Err(error) => {
                error.problems.iter().for_each(show_problem);
                return Ok(ExitCode::from(WRONG_REQUEST));
            }
        }
    }
    if let Some(directory) = device_directory_of(arguments, &files) {
        format::note(&format!(
            "manometer: --out {} is the device directory of the experiment: databases and files lie there; choose \
             another folder, on another device if there is one",
            directory.display()
        ));
        return Ok(ExitCode::from(WRONG_REQUEST));
    }
    let planned = queue::plan_set(files.iter().map(|(_, experiment)| experiment));
    let all = planned.fitted_runs();
    let refusals = isolate::unsupported(all.iter().map(|run| &run.experiment));
    if arguments.dry_run {
        dry::run(arguments, &all)?;
    }
    if !refusals.is_empty() {
        return refused(IsolateError::Unsupported(refusals).into());
    }
    if let Err(error) = all.iter().try_for_each(|run| check_power_states(&run.experiment)) {
        return refused(error.into());
    }
    if arguments.dry_run {
        return Ok(ExitCode::from(DONE));
    }
    let interrupted = crate::signals::interruption()?;
    let out = arguments.out.clone().unwrap_or_else(|| default_out(&files[0].1.name));
    let session = Session { arguments, interrupted: &interrupted };
    let outcome = match only_run(&planned) {
        Some(experiment) => single::run(&session, &out, experiment, &planned.fits),
        None => set::run(&session, &out, &files, &planned),
    };
    match outcome {
        Ok(RunStatus::Complete) => Ok(ExitCode::from(DONE)),
        Ok(_) => Ok(ExitCode::from(FAILED)),
        Err(error) => refused(error),
    }
}

/// The device directory that `--out` is, where it is one.
fn device_directory_of<'a>(arguments: &Arguments, files: &'a [(PathBuf, Experiment)]) -> Option<&'a Path> {
    let place = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
    let out = place(arguments.out.as_deref()?)?;
    let directories = files.iter().map(|(_, experiment)| experiment.directory.as_path());
    directories.into_iter().find(|directory| place(directory).as_ref() == Some(&out))
}

/// The experiment, where there is one run only: then its recording needs no folder below --out.
fn only_run(planned: &PlannedSet) -> Option<&Experiment> {
    let [only] = planned.runs.as_slice() else { return None };
    Some(&only.experiment).filter(|experiment| experiment.swept.is_empty())
}

pub fn show_problem(problem: &file::Problem) {
    let mut text = String::new();
    let drawn = GraphicalReportHandler::new().render_report(&mut text, problem);
    let place = problem.file_and_line().map(|(file, line)| format!("{file}:{line}: ")).unwrap_or_default();
    match drawn {
        Ok(()) => format::note(&format!("{place}{}\n{text}", problem.message())),
        Err(_) => format::note(&problem.to_string()),
    }
}

/// The program whose verb `worker` runs a workload.
pub fn program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("manometer"))
}

/// The exit status of a request that was wrong, or the error.
pub fn refused(error: anyhow::Error) -> anyhow::Result<ExitCode> {
    if !is_wrong_request(&error) {
        return Err(error);
    }
    format::problem(&error);
    Ok(ExitCode::from(WRONG_REQUEST))
}

/// Whether another request would have been right, rather than another host.
fn is_wrong_request(error: &anyhow::Error) -> bool {
    let run = |error: &RunError| match error {
        RunError::Locked(_)
        | RunError::Recording(RecordingError::NotEmpty { .. })
        | RunError::Isolation(IsolateError::Unsupported(_)) => true,
        RunError::Prepare(error) => error.is_wrong_request(),
        _ => false,
    };
    error.is::<LockError>()
        || error.downcast_ref::<RunError>().is_some_and(run)
        || error.downcast_ref::<QueueError>().is_some_and(|error| !matches!(error, QueueError::Io { .. }))
        || matches!(error.downcast_ref(), Some(IsolateError::Unsupported(_)))
}

/// What all runs of one command share.
struct Session<'a> {
    arguments: &'a Arguments,
    interrupted: &'a AtomicBool,
}

impl Session<'_> {
    /// Runs one experiment; `before` are the folders whose data earlier runs of its set made, `made` those whose data
    /// this one makes, however it ends.
    fn perform(
        &self,
        experiment: &Experiment,
        dir: &Path,
        before: &BTreeSet<PathBuf>,
        made: &mut BTreeSet<PathBuf>,
    ) -> Result<RunStatus, RunError> {
        let (program, reuse) = (program(), self.arguments.reuse);
        let setup = RunSetup { program, out: dir.to_owned(), reuse, created: before, interrupted: self.interrupted };
        let mut progress = Progress::new(experiment, self.arguments.progress);
        let outcome = conductor::run(experiment, &setup, made, &mut |update| progress.show(&update));
        progress.finish();
        outcome
    }

    /// Says what runs now, into `dir`: the run `number` of a set of `of`, whose runs have `made` data before.
    fn announce(&self, number: usize, of: usize, experiment: &Experiment, dir: &Path, made: &BTreeSet<PathBuf>) {
        let plan = plan::plan(experiment);
        let swept = &experiment.swept;
        if self.arguments.progress == Form::Json {
            let event = json!({
                "event": "run", "run": number, "runs": of, "settings": swept, "path": dir.to_string_lossy(), "seconds": plan.duration_s(),
            });
            // That nobody listens shows in the updates that follow.
            let _ = format::event(&event);
            return;
        }
        let number = if of == 1 { String::new() } else { format!("run {number} of {of}: ") };
        let swept = if swept.is_empty() { String::new() } else { format!(" ({})", format_settings(swept)) };
        // A damaged ledger is told when the run opens it.
        let book = LedgerEntries::read(&experiment.directory).unwrap_or_default();
        let preparing = PreparationForecast::new(&book, self.arguments.reuse, made).next_run(experiment);
        format::note(&format!(
            "{number}{}{swept}: {} phases, {} after writing {} to prepare them in {}",
            experiment.name,
            plan.phases.len(),
            table::duration(plan.duration_s()),
            human::bytes(preparing.bytes()),
            experiment.directory.display(),
        ));
    }

    /// Analyses the recording in `dir`, and prints what it says.
    fn show(&self, dir: &Path) -> anyhow::Result<AnalysedRecording> {
        let recorded = report::summarise_and_write(dir)?;
        if self.arguments.format == Format::Text {
            format::text(&table::summary(&recorded.summary))?;
            format::text(&format!("\nReport: {}", dir.join(report::FILE).display()))?;
        }
        Ok(recorded)
    }
}

/// `manometer-runs/NAME-TIME`.
fn default_out(name: &str) -> PathBuf {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.take(6).collect::<Vec<_>>().join("-").to_lowercase();
    let unix = std::time::Duration::from_nanos(WallAnchor::now().unix_ns);
    let time = humantime::format_rfc3339_seconds(std::time::UNIX_EPOCH + unix).to_string();
    Path::new("manometer-runs").join(format!("{slug}-{}", time.replace(':', "")))
}
