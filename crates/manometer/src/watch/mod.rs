//! `manometer watch`: the host's storage, and a run that measures on it, live in the terminal.

mod run_state;
mod run_text;
mod screen;
mod view;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use manometer_analysis::verdict::{Verdict, WatchedDevice};
use manometer_measure::live::{StorageMonitor, StorageSnapshot};
use manometer_measure::{Clock as _, MonotonicClock, Recording, Span};
use serde::Serialize;

use self::run_state::{RunState, RunWatch};
use self::view::View;
use crate::exit_status::{ExitStatus, wrong_request};
use crate::output::{self, Format};
use crate::text;

/// The shortest interval: below it the kernel's tick-based counters are noise.
const SHORTEST_INTERVAL_NS: u64 = 100_000_000;

/// Show the device under a directory, its layers, the processes that use storage, and stalls, live.
///
/// Of a recording that a run is writing it also shows the run: its workloads, its phase, and what it shows so far.
///
/// At its end it says how busy the device was, and whether a measurement that begins now could be trusted.
///
/// Reads /proc and /sys only. Keys: q quits, left and right (or s) change the order of the processes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer watch /mnt/nvme\n  manometer watch /mnt/nvme --once --format json\n  \
    manometer watch manometer-runs/a-run   # while it runs")]
pub struct Args {
    /// Directory on the device, or a recording.
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Refresh interval.
    #[arg(long, default_value = "1s")]
    interval: Span,
    /// Print one sample and exit; the default where standard output is not a terminal.
    #[arg(long)]
    once: bool,
    /// Output format; JSON is one document of one sample.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Shows the storage until a key or a signal ends it.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    if !args.dir.is_dir() {
        return Ok(wrong_request(format_args!("{} is not a directory: name one that exists", args.dir.display())));
    }
    if args.interval.nanoseconds() < SHORTEST_INTERVAL_NS {
        return Ok(wrong_request("--interval is shorter than 100ms: the kernel's counters show nothing in it"));
    }
    let recording = run_state::recording_in(&args.dir);
    let dir = recording.as_deref().map_or_else(|| args.dir.clone(), measured_directory);
    let Some(live) = StorageMonitor::of(&dir) else {
        return Ok(wrong_request(format_args!(
            "there is no block device under {}: choose a directory on a local disk; `manometer doctor` shows the \
             layers",
            dir.display()
        )));
    };
    let mut watch = Watch { live, run: recording.map(RunWatch::new), interval_ns: args.interval.nanoseconds() };
    if args.once || args.format == Format::Json || !std::io::stdout().is_terminal() {
        return once(&mut watch, args.format);
    }
    let watched = screen::watch(&mut watch, &*crate::process::interruption()?)?;
    let seen = if watch.run.is_some() { watched.sentence() } else { watched_text(&watched) };
    output::print_text(&seen)?;
    Ok(ExitStatus::Done)
}

/// What is watched: the host, and a run.
struct Watch {
    live: StorageMonitor,
    run: Option<RunWatch>,
    interval_ns: u64,
}

impl Watch {
    /// The state of the run, if one is watched and its recording can be read.
    fn run_state(&mut self) -> Option<RunState> {
        self.run.as_mut()?.state(MonotonicClock.now_ns())
    }
}

/// The directory on the measured device of the recording in `dir`; `dir` itself before the run has described its host.
fn measured_directory(dir: &Path) -> PathBuf {
    let recording = Recording::open(dir).ok();
    let directory = recording.and_then(|recording| Some(PathBuf::from(recording.environment["directory"].as_str()?)));
    directory.filter(|directory| directory.is_dir()).unwrap_or_else(|| dir.to_owned())
}

/// What was seen, and the verdict on a measurement that begins now.
fn watched_text(watched: &WatchedDevice) -> String {
    format!("{}{}", watched.sentence(), text::verdict(&watched.verdict(), &watched.findings()))
}

/// One interval for machines, with the verdict.
#[derive(Debug, Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    frame: &'a StorageSnapshot,
    verdict: Verdict,
    /// The run, where a recording is watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a RunState>,
}

fn once(watch: &mut Watch, format: Format) -> anyhow::Result<ExitStatus> {
    watch.live.sample(MonotonicClock.now_ns());
    MonotonicClock.sleep(watch.interval_ns);
    let frame = watch.live.sample(MonotonicClock.now_ns());
    let run = watch.run_state();
    let mut watched = WatchedDevice::default();
    watched.add(&frame, watch.interval_ns as f64 / 1e9);
    let text = || {
        let mut view = View::default();
        view.push(frame.clone());
        let run = run.as_ref().map_or_else(String::new, |run| run_text::lines(run).join("\n") + "\n\n");
        // Beside a run its own disk is busy: that says nothing of another measurement.
        let seen = if run.is_empty() { watched_text(&watched) } else { watched.sentence() };
        format!("{run}{}\n\n{seen}", view::as_text(&view))
    };
    format.print(|| Document { frame: &frame, verdict: watched.verdict(), run: run.as_ref() }, text)?;
    Ok(ExitStatus::Done)
}
