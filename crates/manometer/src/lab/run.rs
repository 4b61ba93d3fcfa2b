//! `manometer lab run`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use manometer_experiment::file;
use manometer_lab::array;
use manometer_lab::guest::{ArrangementChoice, GuestResult, GuestTask, Work};
use serde_json::json;

use super::GuestArgs;
use crate::array::{counters_text, refuse};
use crate::exit_status::{ExitStatus, wrong_request};
use crate::experiment_error::wrong_file;
use crate::output::{self, Format};
use crate::process;

/// Where the array is mounted in a guest.
const MOUNT: &str = "/run/array";

/// Run an experiment in a guest, on an arrangement, and bring its recording out.
///
/// The experiment's device directory is the array's file system. Counts are those of a real kernel; times are the
/// emulator's.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  manometer lab run my-experiment.toml --array mine.toml --out recording")]
pub struct Args {
    /// Experiment file.
    #[arg(value_name = "FILE")]
    experiment: PathBuf,
    /// File of the arrangement, as `cache tier` reads it.
    #[arg(long, value_name = "FILE")]
    array: PathBuf,
    /// Directory of the recording; must be new. The guest's disks are next to it.
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
    if let Err(error) = file::load(&args.experiment, &args.set) {
        return Ok(wrong_file(&error));
    }
    let out = std::path::absolute(&args.out)?;
    let machine = match args.guest.machine(out.parent().unwrap_or(Path::new("/"))) {
        Ok(machine) => machine,
        Err(error) => return refuse(error),
    };
    let choice = ArrangementChoice { file: std::path::absolute(&args.array)?, sizes: None, mode: None };
    let checked = |arrangement| array::check(&arrangement).and_then(|()| array::device_sizes(&arrangement));
    let disks = match choice.load().and_then(checked) {
        Ok(disks) => disks,
        Err(error) => return refuse(error),
    };
    let (recording, log) = (machine.shared("recording"), machine.shared("log"));
    let words = words(args, &recording)?;
    let work = Work::Command { words, mount: PathBuf::from(MOUNT), log: log.clone() };
    let interrupted = process::interruption()?;
    let result = match machine.run(&GuestTask { array: choice, work }, &disks, &interrupted) {
        Ok(result) => result,
        Err(error) => return refuse(error),
    };
    let is_there = recording.exists();
    if is_there {
        fs::rename(&recording, &out).with_context(|| out.display().to_string())?;
    }
    let status = exit_status(result.status);
    if !is_there || matches!(status, ExitStatus::Failed | ExitStatus::WrongRequest) {
        let log = fs::read_to_string(log).unwrap_or_default();
        output::error(format_args!("in the guest:\n{}", log.trim_end()));
    }
    let document = || json!({ "recording": is_there.then_some(&out), "guest": result });
    args.format.print(document, || text(&out, is_there, &result))?;
    Ok(status)
}

/// The command in the guest.
fn words(args: &Args, recording: &Path) -> anyhow::Result<Vec<String>> {
    let file = std::path::absolute(&args.experiment)?;
    let file = if args.experiment.exists() { file } else { args.experiment.clone() };
    let mut words: Vec<String> =
        [process::executable().as_path(), Path::new("run"), &file, Path::new("--out"), recording].map(shown).to_vec();
    for change in &args.set {
        words.extend(["--set".to_owned(), change.clone()]);
    }
    words.extend(["--set".to_owned(), format!("device.directory={MOUNT}/data")]);
    Ok(words)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The status with which the command in the guest ended.
fn exit_status(status: Option<i32>) -> ExitStatus {
    let all = [ExitStatus::Done, ExitStatus::WrongRequest, ExitStatus::No, ExitStatus::Undecided];
    all.into_iter().find(|one| Some(*one as i32) == status).unwrap_or(ExitStatus::Failed)
}

fn text(out: &Path, is_there: bool, result: &GuestResult) -> String {
    let recording = if is_there { format!("The recording is in {}. ", out.display()) } else { String::new() };
    format!(
        "{recording}Linux {} in a guest took {:.0} s; its times are the emulator's.\n{}",
        result.kernel,
        result.seconds,
        counters_text(&result.counters, result.array.cache)
    )
}
