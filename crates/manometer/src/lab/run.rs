//! `manometer lab run`.

use std::fs;
use std::iter;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use manometer_experiment::{Experiment, file};
use manometer_lab::guest::{DISKS_MAX, GuestResult, GuestTask, TaskOutcome, disk_path};
use manometer_lab::{LabError, array};
use serde_json::json;

use super::GuestArgs;
use crate::array::{RecordedCounters, refuse};
use crate::exit_status::{ExitStatus, wrong_request};
use crate::experiment_error::wrong_file;
use crate::output::{self, Format};
use crate::process;

/// Where the array is mounted in a guest.
const MOUNT: &str = "/run/array";

/// Run an experiment in a guest, on its arrangements, and bring its recordings out.
///
/// The guest's disks take the place of the devices of `[array]`, and the array's file system that of the device directory.
/// Counts are those of a real kernel; times are the emulator's.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer lab run my-experiment.toml --out results\n  \
    manometer lab run my-experiment.toml --array mine.toml --out recording")]
pub struct Args {
    /// Experiment file.
    #[arg(value_name = "FILE")]
    experiment: PathBuf,
    /// File of the arrangement, as `cache tier` reads it, where the experiment has no `[array]` or another one.
    #[arg(long, value_name = "FILE")]
    array: Option<PathBuf>,
    /// Directory of the recording, or of a sweep's recordings; must be new. The guest's disks are next to it.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Change a value of the experiment.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    guest: GuestArgs,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the experiment.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    if args.out.exists() {
        return Ok(wrong_request(format_args!("{} exists: --out must be new", args.out.display())));
    }
    let mut sets = args.set.clone();
    if let Some(array) = &args.array {
        sets.push(setting("array.arrangement", &shown(&std::path::absolute(array)?)));
    }
    // How many disks it needs is known once it is read.
    let all: Vec<String> = (0..DISKS_MAX).map(|at| shown(&disk_path(at))).collect();
    let experiment = match file::load(&args.experiment, &[sets.clone(), devices(&all, &all)].concat()) {
        Ok(experiment) => experiment,
        Err(error) => return Ok(wrong_file(&error)),
    };
    if args.array.is_some() && experiment.sweep.iter().any(|(key, _)| key == "array.arrangement") {
        return Ok(wrong_request(
            "--array: the experiment sweeps `array.arrangement`, which says what is built: leave out one of them",
        ));
    }
    let disks = match disks_of(&experiment) {
        Ok(disks) => disks,
        Err(error) => return refuse(error),
    };
    let (origin, cache) = all.split_at(disks.origin.len());
    sets.extend(devices(origin, &cache[..disks.cache.len()]));
    let out = std::path::absolute(&args.out)?;
    let machine = match args.guest.machine(out.parent().unwrap_or(Path::new("/"))) {
        Ok(machine) => machine,
        Err(error) => return refuse(error),
    };
    let (recording, log) = (machine.shared("recording"), machine.shared("log"));
    let task = GuestTask::Command { words: words(args, &sets, &recording)?, log: log.clone() };
    let interrupted = process::interruption()?;
    let result = match machine.run(&task, &[disks.origin, disks.cache].concat(), &interrupted) {
        Ok(result) => result,
        Err(error) => return refuse(error),
    };
    let is_there = recording.exists();
    if is_there {
        fs::rename(&recording, &out).with_context(|| out.display().to_string())?;
    }
    let status = exit_status(&result.outcome);
    if !is_there || matches!(status, ExitStatus::Failed | ExitStatus::WrongRequest) {
        let log = fs::read_to_string(log).unwrap_or_default().replace(&shown(&recording), &shown(&out));
        output::error(format_args!("in the guest:\n{}", log.trim_end()));
    }
    let document = || {
        let all = RecordedCounters::read_all(&out);
        let arrays: Vec<_> = all.iter().map(|(run, counted)| json!({ "recording": run, "counted": counted })).collect();
        json!({ "recording": is_there.then_some(&out), "guest": result, "arrays": arrays })
    };
    args.format.print(document, || text(&out, is_there, &result))?;
    Ok(status)
}

/// The sizes of a guest's disks, by level.
#[derive(Default)]
struct DiskSizes {
    origin: Vec<u64>,
    cache: Vec<u64>,
}

/// The disks on which every arrangement of `experiment` can be built.
fn disks_of(experiment: &Experiment) -> Result<DiskSizes, LabError> {
    let mut disks = DiskSizes::default();
    for run in iter::once(experiment.clone()).chain(experiment.combinations()) {
        let Some(settings) = run.array else { continue };
        let arrangement = settings.load().map_err(LabError::Refused)?;
        array::check(&arrangement)?;
        let mut origin = array::device_sizes(&arrangement)?;
        let cache = origin.split_off(arrangement.origin.count as usize);
        widen(&mut disks.origin, &origin);
        widen(&mut disks.cache, &cache);
    }
    match disks.origin.len() {
        0 => Err(LabError::Refused("the experiment has no `[array]`: add one, or take `--array FILE`".to_owned())),
        _ => Ok(disks),
    }
}

/// Makes `disks` as many and as large as `needed`.
fn widen(disks: &mut Vec<u64>, needed: &[u64]) {
    disks.resize(disks.len().max(needed.len()), 0);
    disks.iter_mut().zip(needed).for_each(|(disk, needed)| *disk = (*disk).max(*needed));
}

/// The changes that give an experiment's array these devices.
fn devices(origin: &[String], cache: &[String]) -> Vec<String> {
    [("origin", origin), ("cache", cache)].map(|(level, paths)| format!("array.{level}={}", json!(paths))).to_vec()
}

/// The change of a text.
fn setting(key: &str, text: &str) -> String {
    format!("{key}={}", json!(text))
}

/// The command in the guest.
fn words(args: &Args, sets: &[String], recording: &Path) -> anyhow::Result<Vec<String>> {
    let file = std::path::absolute(&args.experiment)?;
    let file = if args.experiment.exists() { file } else { args.experiment.clone() };
    let mut words: Vec<String> =
        [process::executable().as_path(), Path::new("run"), &file, Path::new("--out"), recording].map(shown).to_vec();
    let own = [setting("device.directory", MOUNT), "array.erase=true".to_owned()];
    words.extend(sets.iter().chain(&own).flat_map(|set| ["--set".to_owned(), set.clone()]));
    Ok(words)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The status with which the command in the guest ended.
fn exit_status(outcome: &TaskOutcome) -> ExitStatus {
    let all = [ExitStatus::Done, ExitStatus::WrongRequest, ExitStatus::No, ExitStatus::Undecided];
    all.into_iter().find(|one| TaskOutcome::Status(*one as i32) == *outcome).unwrap_or(ExitStatus::Failed)
}

fn text(out: &Path, is_there: bool, result: &GuestResult) -> String {
    let recording = if is_there { format!("The recording is in {}. ", out.display()) } else { String::new() };
    let counted = |(run, counted): &(PathBuf, RecordedCounters)| {
        format!("\nWhat the array of {} counted:\n{}", run.display(), counted.text())
    };
    let counters: String = RecordedCounters::read_all(out).iter().map(counted).collect();
    format!(
        "{recording}Linux {} in a guest took {:.0} s; its times are the emulator's.{counters}",
        result.kernel, result.seconds
    )
}
