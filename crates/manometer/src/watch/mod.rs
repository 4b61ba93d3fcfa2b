//! `manometer watch`: the host's storage, live in the terminal.

mod screen;
mod view;

use std::io::IsTerminal as _;
use std::path::PathBuf;

use manometer_analysis::verdict::{Verdict, WatchedDevice};
use manometer_measure::live::{StorageMonitor, StorageSnapshot};
use manometer_measure::{Clock as _, MonotonicClock, Span};
use serde::Serialize;

use self::view::View;
use crate::exit_status::{ExitStatus, wrong_request};
use crate::output::{self, Format};
use crate::text;

/// The shortest interval: below it the kernel's tick-based counters are noise.
const SHORTEST_INTERVAL_NS: u64 = 100_000_000;

/// Show the device under a directory, its layers, the processes that use storage, and stalls, live.
///
/// At its end it says how busy the device was, and whether a measurement that begins now could be trusted.
///
/// Reads /proc and /sys only. Keys: q quits, left and right (or s) change the order of the processes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer watch /mnt/nvme\n  manometer watch /mnt/nvme --once --format json")]
pub struct Args {
    /// Directory on the device.
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
    let Some(live) = StorageMonitor::of(&args.dir) else {
        return Ok(wrong_request(format_args!(
            "there is no block device under {}: choose a directory on a local disk; `manometer doctor` shows the \
             layers",
            args.dir.display()
        )));
    };
    let interval_ns = args.interval.nanoseconds();
    if args.once || args.format == Format::Json || !std::io::stdout().is_terminal() {
        return once(live, interval_ns, args.format);
    }
    let watched = screen::watch(live, interval_ns, &*crate::process::interruption()?)?;
    output::print_text(&watched_text(&watched))?;
    Ok(ExitStatus::Done)
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
}

fn once(mut live: StorageMonitor, interval_ns: u64, format: Format) -> anyhow::Result<ExitStatus> {
    live.sample(MonotonicClock.now_ns());
    MonotonicClock.sleep(interval_ns);
    let frame = live.sample(MonotonicClock.now_ns());
    let mut watched = WatchedDevice::default();
    watched.add(&frame, interval_ns as f64 / 1e9);
    let text = || {
        let mut view = View::default();
        view.push(frame.clone());
        format!("{}\n\n{}", view::as_text(&view), watched_text(&watched))
    };
    format.print(|| Document { frame: &frame, verdict: watched.verdict() }, text)?;
    Ok(ExitStatus::Done)
}
