//! A file of the kind `real-vs-synthetic`: one comparison with one report.

mod text;

use std::path::{Path, PathBuf};

use manometer_analysis::real_vs_synthetic::LoadComparison;
use manometer_analysis::real_vs_synthetic::findings::TRACE_DAMAGED;
use manometer_experiment::file::RealVsSynthetic;
use manometer_experiment::file::real_vs_synthetic::KIND;
use manometer_experiment::real_vs_synthetic::{ComparisonProgress, planned_replays_max, run as perform};
use manometer_measure::human;
use manometer_measure::recording;
use manometer_report::real_vs_synthetic as page;

use super::args::Args;
use super::out::{create_empty, default_out};
use crate::exit_status::{ExitStatus, wrong_request};
use crate::experiment_error::wrong_file;
use crate::output::{self, Format};
use crate::progress::ProgressFormat;
use crate::recordings::FILE;

/// The JSON document, in the directory of the page.
const RESULTS: &str = "real-vs-synthetic.json";

/// The resolved file.
const EXPERIMENT: &str = "experiment.toml";

/// Whether `args` name a comparison.
pub(super) fn is_requested(args: &Args) -> bool {
    args.files.iter().any(|file| RealVsSynthetic::has_kind(file))
}

/// Runs the comparison, or prints what would run.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    if let Some(refusal) = refusal(args) {
        return Ok(wrong_request(refusal));
    }
    let settings = match RealVsSynthetic::load(&args.files[0], &args.set) {
        Ok(settings) => settings,
        Err(error) => return Ok(wrong_file(&error)),
    };
    if args.dry_run {
        return dry_run(&settings, args.format);
    }
    let out = args.out.clone().unwrap_or_else(|| default_out(&settings.name));
    let _directory = match create_empty(&out) {
        Ok(directory) => directory,
        Err(reason) => return Ok(wrong_request(reason)),
    };
    let interrupted = crate::process::interruption()?;
    match perform(&settings, &interrupted, &mut print_progress) {
        Ok(comparison) => {
            write(&out, &settings, &comparison)?;
            args.format.print(|| &comparison, || text::text(&comparison, &out))?;
            let is_damaged = comparison.findings.iter().any(|finding| finding.id == TRACE_DAMAGED.id);
            let is_done = comparison.status == "complete" && !is_damaged;
            Ok(if is_done { ExitStatus::Done } else { ExitStatus::Failed })
        }
        Err(error) if error.is_wrong_request() => Ok(wrong_request(error)),
        Err(error) => Err(error.into()),
    }
}

/// The reason why `args` do not apply to a comparison.
fn refusal(args: &Args) -> Option<String> {
    let alone = (args.files.len() > 1).then_some("run it separately");
    let resumed = args.resume.then_some("it cannot be resumed: leave --resume out, and run it from its beginning");
    let reused = args.reuse.then_some("it fills its caches itself: leave --reuse out");
    let progress = (args.progress == ProgressFormat::Json).then_some("its progress is text: leave --progress out");
    let speed = args.write_speed.map(|_| "it writes to memory only: leave --write-speed out");
    let metrics = args.metrics.as_ref().map(|_| "it has no phases: leave --metrics out");
    let reason = alone.or(resumed).or(reused).or(progress).or(speed).or(metrics)?;
    Some(format!("a file of the kind `{KIND}` compares its runs itself: {reason}"))
}

fn dry_run(settings: &RealVsSynthetic, format: Format) -> anyhow::Result<ExitStatus> {
    let replays = planned_replays_max(settings);
    format.print(
        || serde_json::json!({"experiment": settings, "replays": replays}),
        || {
            format!(
                "{}\nexact simulation of {} on {} cache(s), and at most {replays} replays: {} repeat(s) on {}{}",
                settings.to_toml(),
                settings.trace.display(),
                settings.caches.len(),
                settings.repeats,
                if settings.engines.is_empty() { "no engine".to_owned() } else { settings.engines.join(" and ") },
                if settings.slabs.is_some() { ", and of 2 choices of sizes" } else { "" },
            )
        },
    )?;
    Ok(ExitStatus::Done)
}

fn print_progress(update: ComparisonProgress<'_>) {
    let text = match update {
        ComparisonProgress::TraceRead { requests, keys } => format!("{requests} requests for {keys} keys"),
        ComparisonProgress::ZipfFitted { all_keys, curve } => {
            format!(
                "Zipf's law fits the popularity of all keys with the exponent {all_keys:.3}, the curve with {curve:.3}"
            )
        }
        ComparisonProgress::Simulating { load } => format!("simulating {load}"),
        ComparisonProgress::ClusterReplay { load, arrivals, seconds } => {
            format!("{load} on the cluster, {} arrivals, {seconds} s", arrivals.name())
        }
        ComparisonProgress::ThroughputRun { load, threads, repeat } => {
            format!("throughput of {load} with {threads} thread(s), repeat {repeat}")
        }
        ComparisonProgress::Footprint { engine, bytes } => format!("all keys take {} in {engine}", human::bytes(bytes)),
        ComparisonProgress::ReplayStarted { number, total: of, engine, load, cache_bytes, repeat } => {
            format!("{number}/{of}: {load} on {engine} with {}, repeat {repeat}", human::bytes(cache_bytes))
        }
    };
    output::note(&text);
}

fn write(out: &Path, settings: &RealVsSynthetic, comparison: &LoadComparison) -> anyhow::Result<()> {
    let files: [(PathBuf, String); 3] = [
        (out.join(EXPERIMENT), settings.to_toml()),
        (out.join(RESULTS), serde_json::to_string_pretty(comparison)?),
        (out.join(FILE), page(comparison)),
    ];
    for (path, text) in files {
        recording::write_file(&path, text.as_bytes())?;
    }
    Ok(())
}
