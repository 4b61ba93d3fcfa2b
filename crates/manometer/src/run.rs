//! `manometer run`: experiments become recordings.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;
use manometer_experiment::conductor::{self, Ended, RunError, Setup};
use manometer_experiment::file::{Workload, settings_text};
use manometer_experiment::prepare;
use manometer_experiment::prepare::ledger::Book;
use manometer_experiment::prepare::steps::Step;
use manometer_experiment::{Experiment, file, fit, isolate, plan};
use manometer_measure::RecordingError;
use manometer_measure::clock::WallAnchor;
use manometer_measure::event::Status;
use manometer_report::Recorded;
use miette::GraphicalReportHandler;
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::format::{self, Format};
use crate::prepare::{outline, outline_json};
use crate::progress::Progress;
use crate::{DONE, FAILED, WRONG_REQUEST, report, table};

/// Run an experiment and leave a recording with its report.
#[derive(Args)]
#[command(after_help = "Examples:\n  manometer run experiments/quick.toml\n  \
    manometer run experiments/quick.toml --dry-run\n  \
    manometer run my.toml --set plan.phase=5m --set writer.write_ratio=0.9 --out results/one")]
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
    /// Use databases and files that another experiment left, where they can serve, instead of making them.
    #[arg(long)]
    reuse: bool,
    /// Print the resolved file, the phases, the time and the bytes; run nothing.
    #[arg(long)]
    dry_run: bool,
    /// For whom to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs, or shows what would run.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut runs: Vec<Experiment> = Vec::new();
    for path in &arguments.files {
        match file::load(path, &arguments.set) {
            Ok(experiment) => {
                runs.extend(manometer_experiment::queue::runs(&experiment).into_iter().map(|run| run.experiment))
            }
            Err(error) => {
                error.problems.iter().for_each(show_problem);
                return Ok(ExitCode::from(WRONG_REQUEST));
            }
        }
    }
    let runs = fit::fit(runs);
    let refused = isolate::refusals(&runs);
    let outcome = match (arguments.dry_run, refused.is_empty()) {
        (true, _) => dry_run(arguments, &runs)?,
        (false, true) => return perform(arguments, &runs),
        (false, false) => ExitCode::from(WRONG_REQUEST),
    };
    if refused.is_empty() {
        return Ok(outcome);
    }
    format::problem(&isolate::IsolateError::Refused(refused).into());
    Ok(ExitCode::from(WRONG_REQUEST))
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

fn perform(arguments: &Arguments, runs: &[Experiment]) -> anyhow::Result<ExitCode> {
    let interrupted = interruption()?;
    let out = arguments.out.clone().unwrap_or_else(|| default_out(&runs[0]));
    let single = runs.len() == 1 && runs[0].swept.is_empty();
    let mut recorded = Vec::new();
    let mut outcome = Ok(Ended { status: Status::Complete, made: BTreeSet::new() });
    for (index, experiment) in runs.iter().enumerate() {
        let Ok(Ended { status: Status::Complete, made }) = &outcome else { break };
        let dir = if single { out.clone() } else { out.join("runs").join(format!("{:03}", index + 1)) };
        announce(runs, index);
        outcome = perform_one(arguments, experiment, &dir, made, &interrupted);
        // A run that could not begin leaves nothing to show, or nothing of its own.
        if outcome.is_ok() {
            recorded.push(show(arguments, &dir)?);
        }
    }
    if !single && !recorded.is_empty() {
        let page = out.join(report::FILE);
        report::write_page(&page, &recorded)?;
        let across = table::findings(&report::across(&recorded));
        format::note(&format!("{across}\nReport over all runs: {}", page.display()));
    }
    if arguments.format == Format::Json && !recorded.is_empty() {
        match recorded.as_slice() {
            [only] if single => format::json(&only.summary)?,
            many => format::json(&report::runs_document(many))?,
        }
    }
    match outcome {
        Ok(Ended { status: Status::Complete, .. }) => Ok(ExitCode::from(DONE)),
        Ok(_) => Ok(ExitCode::from(FAILED)),
        Err(error) => refused(error),
    }
}

/// What a signal sets, from now on, instead of ending the program.
pub fn interruption() -> anyhow::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // A second signal ends the program at once: the workers end with their standard input.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&interrupted))?;
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}

/// The program whose verb `worker` runs a workload.
pub fn program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("manometer"))
}

/// The exit status of a request that was wrong, or the error.
pub fn refused(error: RunError) -> anyhow::Result<ExitCode> {
    if !is_wrong_request(&error) {
        return Err(error.into());
    }
    format::problem(&error.into());
    Ok(ExitCode::from(WRONG_REQUEST))
}

/// Whether another request would have been right, rather than another host.
fn is_wrong_request(error: &RunError) -> bool {
    match error {
        RunError::Locked(_)
        | RunError::Recording(RecordingError::NotEmpty { .. })
        | RunError::Isolation(isolate::IsolateError::Refused(_)) => true,
        RunError::Prepare(error) => error.is_wrong_request(),
        _ => false,
    }
}

/// Runs one experiment; `made` are the folders whose data earlier runs of this command made.
fn perform_one(
    arguments: &Arguments,
    experiment: &Experiment,
    dir: &Path,
    made: &BTreeSet<PathBuf>,
    interrupted: &AtomicBool,
) -> Result<Ended, RunError> {
    let setup = Setup { program: program(), out: dir.to_owned(), reuse: arguments.reuse, made, interrupted };
    let mut progress = Progress::new(experiment);
    let outcome = conductor::run(experiment, &setup, &mut |update| progress.show(&update));
    progress.finish();
    let Ended { status, made: now } = outcome?;
    Ok(Ended { status, made: made.union(&now).cloned().collect() })
}

/// Analyses the recording in `dir`, and prints what it says.
fn show(arguments: &Arguments, dir: &Path) -> anyhow::Result<Recorded> {
    let recorded = report::summarise_and_write(dir)?;
    if arguments.format == Format::Text {
        format::text(&table::summary(&recorded.summary))?;
        format::text(&format!("\nReport: {}", dir.join(report::FILE).display()))?;
    }
    Ok(recorded)
}

fn announce(runs: &[Experiment], index: usize) {
    let experiment = &runs[index];
    let plan = plan::plan(experiment);
    let number = if runs.len() > 1 { format!("run {} of {}: ", index + 1, runs.len()) } else { String::new() };
    let swept = &experiment.swept;
    let swept = if swept.is_empty() { String::new() } else { format!(" ({})", settings_text(swept)) };
    format::note(&format!(
        "{number}{}{swept}: {} phases, {} after preparing {} of data in {}",
        experiment.name,
        plan.phases.len(),
        table::duration(plan.duration_s()),
        table::bytes(bytes_to_prepare(runs, index)),
        experiment.directory.display(),
    ));
}

/// The bytes that preparing run `index` writes: what the run before it made, it need not.
fn bytes_to_prepare(runs: &[Experiment], index: usize) -> u64 {
    let before = index.checked_sub(1).map(|before| &runs[before]);
    let there = |workload: &Workload| {
        before.is_some_and(|run| {
            let same = |other: &Workload| other.name == workload.name && other.settings.same_data(&workload.settings);
            run.directory == runs[index].directory && run.workloads().any(same)
        })
    };
    let missing = runs[index].workloads().filter(|workload| !there(workload));
    missing.map(|workload| workload.settings.bytes_to_prepare()).sum()
}

/// `manometer-runs/NAME-TIME`.
fn default_out(experiment: &Experiment) -> PathBuf {
    let words = experiment.name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.take(6).collect::<Vec<_>>().join("-").to_lowercase();
    let unix = std::time::Duration::from_nanos(WallAnchor::now().unix_ns);
    let time = humantime::format_rfc3339_seconds(std::time::UNIX_EPOCH + unix).to_string();
    Path::new("manometer-runs").join(format!("{slug}-{}", time.replace(':', "")))
}

fn dry_run(arguments: &Arguments, runs: &[Experiment]) -> anyhow::Result<ExitCode> {
    let plans: Vec<_> = runs.iter().map(plan::plan).collect();
    let seconds: f64 = plans.iter().map(manometer_measure::Plan::duration_s).sum();
    let bytes: u64 = (0..runs.len()).map(|index| bytes_to_prepare(runs, index)).sum();
    let book = Book::read(&runs[0].directory)?;
    let outlines = prepare::outline(runs, &book, false);
    let steps = outlines.concat();
    let first = &runs[0];
    if arguments.format == Format::Json {
        let run = |((experiment, plan), steps): ((&Experiment, &manometer_measure::Plan), &Vec<Step>)| {
            json!({
                "prepare": steps,
                "settings": experiment.swept, "experiment": experiment.resolved, "plan": plan,
                "duration_s": plan.duration_s(), "bytes_to_prepare": experiment.bytes_to_prepare().0,
                "isolation": isolate::describe(experiment),
            })
        };
        let runs: Vec<Value> = runs.iter().zip(&plans).zip(&outlines).map(run).collect();
        let preparation = outline_json(first, &book, &steps);
        format::json(&json!({
            "runs": runs, "duration_s": seconds, "bytes_to_prepare": bytes, "preparation": preparation,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut shown: Vec<&str> = Vec::new();
    for (experiment, plan) in runs.iter().zip(&plans) {
        if !shown.contains(&experiment.name.as_str()) {
            shown.push(&experiment.name);
            format::text(&format!("# {}, resolved:\n\n{}", experiment.name, experiment.to_toml()))?;
            format::text(&table::phases(plan))?;
            let isolation = isolate::describe(experiment);
            if !isolation.is_empty() {
                format::text(&format!("\nIsolation:\n  {}", isolation.join("\n  ")))?;
            }
        }
    }
    if runs.len() > 1 {
        format::text("\nRuns, each with these phases:")?;
    }
    for (index, experiment) in runs.iter().enumerate().filter(|_| runs.len() > 1) {
        format::text(&format!("{:4}  {}", index + 1, settings_text(&experiment.swept)))?;
    }
    if !steps.is_empty() || first.write_budget.is_some() {
        format::text(&format!("\n{}", outline(first, &book, &steps)))?;
    }
    let copies = if runs.len() > 1 { format!(" in {} runs", runs.len()) } else { String::new() };
    format::text(&format!(
        "\n{} of phases{copies}, preparation and up to one sample interval a phase aside. Preparing writes {}; what \
         workloads write while they run depends on the device: `rate` bounds it.",
        table::duration(seconds),
        table::bytes(bytes),
    ))?;
    Ok(ExitCode::SUCCESS)
}
