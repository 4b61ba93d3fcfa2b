//! `manometer run`: experiments become recordings.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context as _;
use clap::Args;
use manometer_experiment::conductor::{self, Existing, Setup};
use manometer_experiment::{Experiment, file, plan};
use manometer_measure::clock::WallAnchor;
use manometer_measure::event::Status;
use manometer_measure::plan::Settings;
use miette::GraphicalReportHandler;
use serde_json::{Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::format::{self, Format};
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
            Ok(experiment) => runs.extend(experiment.runs()),
            Err(error) => {
                error.problems.iter().for_each(show_problem);
                return Ok(ExitCode::from(WRONG_REQUEST));
            }
        }
    }
    if arguments.dry_run { dry_run(arguments, &runs) } else { perform(arguments, &runs) }
}

fn show_problem(problem: &file::Problem) {
    let mut text = String::new();
    let drawn = GraphicalReportHandler::new().render_report(&mut text, problem);
    let place = problem.file_and_line().map(|(file, line)| format!("{file}:{line}: ")).unwrap_or_default();
    match drawn {
        Ok(()) => format::note(&format!("{place}{}\n{text}", problem.message())),
        Err(_) => format::note(&problem.to_string()),
    }
}

fn perform(arguments: &Arguments, runs: &[Experiment]) -> anyhow::Result<ExitCode> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // A second signal ends the program at once: the workers end with their standard input.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&interrupted))?;
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    let out = arguments.out.clone().unwrap_or_else(|| default_out(&runs[0]));
    let single = runs.len() == 1 && runs[0].swept.is_empty();
    let mut recorded = Vec::new();
    let mut status = Status::Complete;
    for (index, experiment) in runs.iter().enumerate() {
        let dir = if single { out.clone() } else { out.join("runs").join(format!("{:03}", index + 1)) };
        announce(runs.len(), index, experiment);
        let existing = match (arguments.reuse, index) {
            (true, _) => Existing::Reuse,
            (false, 0) => Existing::Remake,
            // What lies there now, an earlier run of this command has made.
            (false, _) => Existing::Renew,
        };
        status = perform_one(experiment, existing, &dir, &interrupted)?;
        let one = report::summarise_and_write(&dir)?;
        if arguments.format == Format::Text {
            format::text(&table::summary(&one.summary))?;
            format::text(&format!("\nReport: {}", dir.join(report::FILE).display()))?;
        }
        recorded.push(one);
        if status != Status::Complete {
            break;
        }
    }
    if !single {
        let page = out.join(report::FILE);
        report::write_page(&page, &recorded)?;
        format::note(&format!("Report over all runs: {}", page.display()));
    }
    if arguments.format == Format::Json {
        match recorded.as_slice() {
            [only] if single => format::json(&only.summary)?,
            many => format::json(&report::runs_document(many))?,
        }
    }
    Ok(ExitCode::from(if status == Status::Complete { DONE } else { FAILED }))
}

fn perform_one(
    experiment: &Experiment,
    existing: Existing,
    dir: &Path,
    interrupted: &AtomicBool,
) -> anyhow::Result<Status> {
    let setup = Setup {
        program: std::env::current_exe().context("where this program lies")?,
        out: dir.to_owned(),
        existing,
        interrupted,
    };
    let mut progress = Progress::new(experiment);
    let outcome = conductor::run(experiment, &setup, &mut |update| progress.show(&update));
    progress.finish();
    Ok(outcome?)
}

fn announce(runs: usize, index: usize, experiment: &Experiment) {
    let plan = plan::plan(experiment);
    let number = if runs > 1 { format!("run {} of {runs}: ", index + 1) } else { String::new() };
    let said = if experiment.swept.is_empty() { String::new() } else { format!(" ({})", said(&experiment.swept)) };
    format::note(&format!(
        "{number}{}{said}: {} phases, {} after writing {} of data into {}",
        experiment.name,
        plan.phases.len(),
        table::duration(plan.duration_s()),
        table::bytes(experiment.bytes_to_prepare().0),
        experiment.directory.display(),
    ));
}

/// `key = value, key = value`.
fn said(settings: &Settings) -> String {
    settings.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join(", ")
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
    let bytes: u64 = runs.iter().map(|experiment| experiment.bytes_to_prepare().0).sum();
    if arguments.format == Format::Json {
        let run = |(experiment, plan): (&Experiment, &manometer_measure::Plan)| {
            json!({
                "settings": experiment.swept, "experiment": experiment.resolved, "plan": plan,
                "duration_s": plan.duration_s(), "bytes_to_prepare": experiment.bytes_to_prepare().0,
            })
        };
        let runs: Vec<Value> = runs.iter().zip(&plans).map(run).collect();
        format::json(&json!({ "runs": runs, "duration_s": seconds, "bytes_to_prepare": bytes }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut shown: Vec<&str> = Vec::new();
    for (experiment, plan) in runs.iter().zip(&plans) {
        if !shown.contains(&experiment.name.as_str()) {
            shown.push(&experiment.name);
            format::text(&format!("# {}, resolved:\n\n{}", experiment.name, experiment.to_toml()))?;
            format::text(&table::phases(plan))?;
        }
    }
    if runs.len() > 1 {
        format::text("\nRuns, each with these phases:")?;
    }
    for (index, experiment) in runs.iter().enumerate().filter(|_| runs.len() > 1) {
        format::text(&format!("{:4}  {}", index + 1, said(&experiment.swept)))?;
    }
    let copies = if runs.len() > 1 { format!(" in {} runs", runs.len()) } else { String::new() };
    format::text(&format!(
        "\n{} of phases{copies}, preparation aside, which writes {}. What workloads write while they run depends on \
         the device; `rate` bounds it.",
        table::duration(seconds),
        table::bytes(bytes),
    ))?;
    Ok(ExitCode::SUCCESS)
}
