//! `manometer trace capture`: the requests to a block device as a trace.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use manometer_measure::capture::{CaptureError, CaptureOptions, CaptureSummary, CaptureTarget, capture};
use manometer_measure::{ByteSize, MonotonicClock};
use serde_json::json;

use crate::exit_status::{ExitStatus, wrong_request};
use crate::output::{self, Format};

/// The valid sizes of the kernel's buffer, in bytes for each processor.
const BUFFERS: std::ops::RangeInclusive<u64> = (64 << 10)..=(1 << 30);

/// Record the requests to a block device in the format of `blkparse`.
///
/// Needs root and tracefs. Several captures and other tracers can run at once. Ctrl-C ends the capture early and keeps the
/// trace.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  manometer trace capture /dev/nvme0n1 --seconds 60 --out live.blkparse\n\n\
    Without tracefs, `blktrace -d DEVICE -o - | blkparse -i -` prints the same format.")]
pub struct Args {
    /// Block device (a disk, a partition, md, dm or loop), or its name in the kernel.
    device: PathBuf,
    /// Duration in seconds.
    #[arg(long)]
    seconds: f64,
    /// File of the trace; it must be new.
    #[arg(long)]
    out: PathBuf,
    /// Kernel's buffer for each processor; use a larger one if events are lost.
    #[arg(long, default_value = "8MiB")]
    buffer: ByteSize,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Captures the requests and prints the counts.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let target = match check(args) {
        Ok(target) => target,
        Err(wrong) => return Ok(wrong_request(wrong)),
    };
    let interrupted = crate::process::interruption()?;
    let file = match File::create_new(&args.out) {
        Ok(file) => file,
        Err(error) => {
            return Ok(wrong_request(format_args!("{}: {error}: name a file that can be created", args.out.display())));
        }
    };
    announce(args, &target);
    let options =
        CaptureOptions { target: &target, length_ns: (args.seconds * 1e9) as u64, buffer_kib: args.buffer.0 / 1024 };
    let captured = match capture(&options, &MonotonicClock, &interrupted, &mut BufWriter::new(&file)) {
        Ok(captured) => captured,
        Err(error) => {
            remove_if_empty(args, &file);
            return match error {
                CaptureError::Tracefs(_) => Ok(wrong_request(error)),
                error => Err(error.into()),
            };
        }
    };
    print(args, &target, &captured)?;
    Ok(ExitStatus::Done)
}

/// Prints what is captured, and warnings.
fn announce(args: &Args, target: &CaptureTarget) {
    if target.holds(&args.out) {
        output::note(&format!(
            "warning: {} is on {}: the trace will contain its own writes; choose another device with --out",
            args.out.display(),
            target.device.name
        ));
    }
    if target.is_partition() {
        output::note("note: flushes have no sector and do not show on a partition: capture the disk to record them");
    }
    output::note(&format!("Capturing {} for {} s; Ctrl-C ends it ...", target.device.name, args.seconds));
}

fn check(args: &Args) -> Result<CaptureTarget, String> {
    if !(args.seconds > 0.0 && args.seconds <= 1e9) {
        return Err(format!("--seconds is {}: write a number above 0", args.seconds));
    }
    if !BUFFERS.contains(&args.buffer.0) {
        return Err(format!("--buffer is {}: write 64KiB to 1GiB", args.buffer));
    }
    CaptureTarget::find(&args.device).map_err(|error| error.to_string())
}

/// Removes an empty trace.
fn remove_if_empty(args: &Args, file: &File) {
    if file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
        let _ = std::fs::remove_file(&args.out);
    }
}

fn print(args: &Args, target: &CaptureTarget, captured: &CaptureSummary) -> anyhow::Result<()> {
    let CaptureSummary { seconds, events, issued, completed, lost, not_understood } = captured;
    if *lost > 0 {
        output::note(&format!(
            "warning: {lost} events were lost because the kernel's buffers were full: use a larger --buffer \
             (now {})",
            args.buffer
        ));
    }
    if *not_understood > 0 {
        output::note(&format!("warning: {not_understood} lines of the kernel could not be parsed and are missing"));
    }
    let document = || {
        let mut document = json!({ "device": target.device.name, "file": args.out, "format": "blkparse" });
        if let (Some(all), serde_json::Value::Object(fields)) = (document.as_object_mut(), json!(captured)) {
            all.extend(fields);
        }
        document
    };
    let text = || {
        format!(
            "{}: {events} events of {} in {seconds:.1} s: {issued} requests issued, {completed} completed, {lost} \
             events lost",
            args.out.display(),
            target.device.name,
        )
    };
    args.format.print(document, text)
}
