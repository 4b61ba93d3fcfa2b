//! A file of the kind `real-vs-synthetic`: one comparison, one report.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use manometer_analysis::real_vs_synthetic::{LoadComparison, RepeatMean, TRACE};
use manometer_experiment::file::RealVsSynthetic;
use manometer_experiment::file::real_vs_synthetic::KIND;
use manometer_experiment::real_vs_synthetic::{ComparisonProgress, planned_replays, run as perform};
use manometer_measure::human;
use manometer_report::real_vs_synthetic as page;

use super::{Arguments, default_out, show_problem};
use crate::format::{self, Format};
use crate::progress::Form;
use crate::report::FILE;
use crate::{DONE, FAILED, WRONG_REQUEST, table};

/// What `--format json` prints, beside the page.
const RESULTS: &str = "real-vs-synthetic.json";
/// The file exactly as run.
const EXPERIMENT: &str = "experiment.toml";

/// Whether `arguments` ask for such a comparison.
pub(super) fn is_asked_for(arguments: &Arguments) -> bool {
    arguments.files.iter().any(|file| RealVsSynthetic::has_kind(file))
}

/// Runs it, or shows what would run.
pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if let Some(refusal) = refusal(arguments) {
        format::note(&format!("manometer: {refusal}"));
        return Ok(ExitCode::from(WRONG_REQUEST));
    }
    let settings = match RealVsSynthetic::load(&arguments.files[0], &arguments.set) {
        Ok(settings) => settings,
        Err(error) => {
            error.problems.iter().for_each(show_problem);
            return Ok(ExitCode::from(WRONG_REQUEST));
        }
    };
    if arguments.dry_run {
        return dry(&settings, arguments.format);
    }
    let out = arguments.out.clone().unwrap_or_else(|| default_out(&settings.name));
    if let Err(reason) = make(&out) {
        format::note(&format!("manometer: {reason}"));
        return Ok(ExitCode::from(WRONG_REQUEST));
    }
    let interrupted = crate::signals::interruption()?;
    match perform(&settings, &interrupted, &mut tell) {
        Ok(comparison) => {
            write(&out, &settings, &comparison)?;
            show(&comparison, &out, arguments.format)?;
            Ok(ExitCode::from(if comparison.status == "complete" { DONE } else { FAILED }))
        }
        Err(error) if error.is_wrong_request() => {
            format::problem(&error.into());
            Ok(ExitCode::from(WRONG_REQUEST))
        }
        Err(error) => Err(error.into()),
    }
}

/// Why `arguments` do not fit a comparison.
fn refusal(arguments: &Arguments) -> Option<String> {
    let alone = (arguments.files.len() > 1).then_some("run it alone, in a command of its own");
    let resumed = arguments.resume.then_some("it cannot be resumed: leave --resume out, and run it from its begin");
    let reused = arguments.reuse.then_some("it fills its caches itself: leave --reuse out");
    let told = (arguments.progress == Form::Json).then_some("its progress is text: leave --progress out");
    let speed = arguments.write_speed.map(|_| "it writes to memory alone: leave --write-speed out");
    let reason = alone.or(resumed).or(reused).or(told).or(speed)?;
    Some(format!("a file of the kind `{KIND}` is a comparison of its own: {reason}"))
}

/// Makes the folder of the results, which must hold nothing yet.
fn make(out: &Path) -> Result<(), String> {
    fs::create_dir_all(out).map_err(|error| format!("--out {}: {error}", out.display()))?;
    let mut entries = fs::read_dir(out).map_err(|error| format!("--out {}: {error}", out.display()))?;
    match entries.next() {
        None => Ok(()),
        Some(_) => Err(format!("--out {} is not empty: choose another folder", out.display())),
    }
}

fn dry(settings: &RealVsSynthetic, format: Format) -> anyhow::Result<ExitCode> {
    let replays = planned_replays(settings);
    match format {
        Format::Json => format::json(&serde_json::json!({"experiment": settings, "replays": replays}))?,
        Format::Text => format::text(&format!(
            "{}\n{replays} replays of {}: {} repeat(s) of 4 loads on {} cache(s) of {}{}",
            settings.to_toml(),
            settings.trace.display(),
            settings.repeats,
            settings.caches.len(),
            settings.engines.join(" and "),
            if settings.slabs.is_some() { ", and of 2 choices of sizes" } else { "" },
        ))?,
    }
    Ok(ExitCode::from(DONE))
}

fn tell(update: ComparisonProgress<'_>) {
    let text = match update {
        ComparisonProgress::TraceRead { requests, keys, exponent } => {
            format!("{requests} requests for {keys} keys; Zipf's law fits best with the exponent {exponent:.3}")
        }
        ComparisonProgress::Footprint { engine, bytes } => format!("all keys take {} in {engine}", human::bytes(bytes)),
        ComparisonProgress::ReplayStarted { number, total: of, engine, load, cache_bytes, repeat } => {
            format!("{number}/{of}: {load} on {engine} with {}, repeat {repeat}", human::bytes(cache_bytes))
        }
    };
    format::note(&text);
}

fn write(out: &Path, settings: &RealVsSynthetic, comparison: &LoadComparison) -> anyhow::Result<()> {
    let files: [(PathBuf, String); 3] = [
        (out.join(EXPERIMENT), settings.to_toml()),
        (out.join(RESULTS), serde_json::to_string_pretty(comparison)?),
        (out.join(FILE), page(comparison)),
    ];
    for (path, text) in files {
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

fn show(comparison: &LoadComparison, out: &Path, format: Format) -> anyhow::Result<()> {
    if format == Format::Json {
        return format::json(comparison);
    }
    let mut text = format!("{}\n", comparison.headline);
    for finding in &comparison.findings {
        text += &format!("\n{}\n", finding.text);
    }
    for engine in &comparison.engines {
        let head = ["load", "RMSE", "mean error", "largest error", "at cache", "speed-up", "its error"];
        let mut table = table::table(&head, 1);
        for curve in engine.curves.iter().filter(|curve| curve.load == TRACE) {
            let gaps = || "".to_owned();
            table.add_row([curve.load.clone(), gaps(), gaps(), gaps(), gaps(), times(&curve.speed_up), gaps()]);
        }
        for one in &engine.differences {
            let curve = engine.curves.iter().find(|curve| curve.load == one.load);
            let percent = |share: f64| format!("{:.2} %", 100.0 * share);
            table.add_row([
                one.load.clone(),
                percent(one.rmse),
                percent(one.mean_abs),
                percent(one.max_abs),
                format!("{:.0} %", 100.0 * one.max_at),
                curve.map_or_else(|| "-".to_owned(), |curve| times(&curve.speed_up)),
                error(&one.speed_up),
            ]);
        }
        text += &format!("\n{} {}\n{table}\n", engine.engine, engine.version);
    }
    text += &hot_spots(comparison);
    text += &slabs(comparison);
    format::text(&format!("{text}\nReport: {}", out.join(FILE).display()))
}

fn hot_spots(comparison: &LoadComparison) -> String {
    let Some(spots) = &comparison.hot_spots else { return String::new() };
    let mut table = table::table(&["load", "least", "lower quartile", "median", "upper quartile", "most", "range"], 1);
    for load in &spots.loads {
        let Some(plot) = &load.requests else { continue };
        let numbers = [plot.min, plot.q1, plot.median, plot.q3, plot.max, plot.range];
        table.add_row(std::iter::once(load.load.clone()).chain(numbers.iter().map(|number| table::number(*number))));
    }
    match &spots.reason {
        Some(reason) => format!("\nHot spots are not told: {reason}.\n"),
        None => format!("\nRequests of each of {} nodes in each second\n{table}\n", spots.nodes),
    }
}

fn slabs(comparison: &LoadComparison) -> String {
    let Some(slabs) = &comparison.slabs else { return String::new() };
    let mut table = table::table(&["values", "write µs", "miss ratio", "ops/s"], 1);
    let or_gap = |mean: &RepeatMean| mean.mean.map_or_else(|| "-".to_owned(), table::number);
    for load in &slabs.loads {
        let miss_ratio = load.miss_ratio.mean.map_or_else(|| "-".to_owned(), |ratio| format!("{:.2} %", 100.0 * ratio));
        table.add_row([load.sizes.clone(), or_gap(&load.write_us), miss_ratio, or_gap(&load.ops_per_s)]);
    }
    let mean = human::bytes(slabs.value_bytes_mean);
    format!("\nValues over {} classes of slabs, {mean} on average\n{table}\n", slabs.classes)
}

/// An error with its interval, where there is one.
fn error(mean: &RepeatMean) -> String {
    let told = |share: f64| format!("{:+.1} %", 100.0 * share);
    let interval = mean.ci_low.zip(mean.ci_high).map(|(low, high)| format!(" ({} to {})", told(low), told(high)));
    mean.mean.map_or_else(|| "-".to_owned(), |mean| told(mean) + &interval.unwrap_or_default())
}

fn times(mean: &RepeatMean) -> String {
    mean.mean.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.2} x"))
}
