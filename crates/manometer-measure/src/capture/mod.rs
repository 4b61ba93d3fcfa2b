//! Captures the requests that reach a block device, in the format of `blkparse`.
//!
//! The kernel reports each request as block events in tracefs; a separate tracing instance keeps them apart from other
//! tracers. `manometer-trace` reads such traces.

mod blkparse;
mod line;
mod target;
pub mod tracefs;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

pub use line::{BlockEvent, EventKind};
pub use target::{CaptureTarget, TargetError};
pub use tracefs::TracefsError;

use crate::clock::Clock;
use tracefs::Instance;

/// The pause before the next read of empty buffers.
const POLL_NS: u64 = 20_000_000;

/// The largest delay of an event: each is held back for so long, to be ordered with those of other processors.
const ORDER_NS: u64 = 200_000_000;

/// A capture that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The kernel's events are not available.
    #[error("{0}; {remedy}", remedy = tracefs::REMEDY)]
    Tracefs(#[from] TracefsError),
    /// A file of tracefs cannot be used.
    #[error("{}: {source}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The trace cannot be written.
    #[error("the trace cannot be written: {0}")]
    Write(io::Error),
}

/// The result of a capture.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaptureSummary {
    /// Its length in seconds.
    pub seconds: f64,
    /// Lines written.
    pub events: u64,
    /// Requests issued to the device.
    pub issued: u64,
    /// Requests completed.
    pub completed: u64,
    /// Events that are missing because the kernel's buffers were full.
    pub lost: u64,
    /// Lines of the kernel that are missing because they were not understood.
    pub not_understood: u64,
}

/// The settings of a capture.
#[derive(Debug, Clone, Copy)]
pub struct CaptureOptions<'a> {
    /// The device to capture.
    pub target: &'a CaptureTarget,
    /// The length of the capture.
    pub length_ns: u64,
    /// The kernel's buffer for each processor.
    pub buffer_kib: u64,
}

/// Writes the requests that reach the target to `out`, until the time is over or `interrupted` is set. It removes its tracing
/// instance at the end.
///
/// # Errors
/// The kernel's events are not available, or `out` cannot be written; what was written before stays.
pub fn capture(
    options: &CaptureOptions<'_>,
    clock: &dyn Clock,
    interrupted: &AtomicBool,
    out: &mut dyn Write,
) -> Result<CaptureSummary, CaptureError> {
    let root = tracefs::find()?;
    let instance = Instance::create(&root, options.buffer_kib)?;
    let mut pipe = instance.pipe()?;
    let start_ns = clock.now_ns();
    instance.enable(options.target.kinds(), &options.target.filter())?;
    let mut trace = TraceWriter::new(options.target, start_ns, out);
    let end_ns = start_ns.saturating_add(options.length_ns);
    let mut now_ns = start_ns;
    while now_ns < end_ns && !interrupted.load(Ordering::Relaxed) {
        let lines = pipe.lines()?;
        let empty = lines.is_empty();
        trace.add(&lines);
        trace.write_before(now_ns.saturating_sub(ORDER_NS))?;
        if empty {
            clock.sleep(POLL_NS.min(end_ns - now_ns));
        }
        now_ns = clock.now_ns();
    }
    instance.stop()?;
    loop {
        let lines = pipe.lines()?;
        if lines.is_empty() {
            break;
        }
        trace.add(&lines);
    }
    trace.write_before(u64::MAX)?;
    trace.out.flush().map_err(CaptureError::Write)?;
    let seconds = (now_ns - start_ns) as f64 / 1e9;
    Ok(CaptureSummary { seconds, lost: instance.lost()?, ..trace.summary })
}

/// Orders the events of the kernel and writes the trace.
struct TraceWriter<'a> {
    target: &'a CaptureTarget,
    start_ns: u64,
    out: &'a mut dyn Write,
    pending: Vec<BlockEvent>,
    /// The number of events of each processor so far.
    sequences: BTreeMap<u32, u64>,
    summary: CaptureSummary,
}

impl<'a> TraceWriter<'a> {
    fn new(target: &'a CaptureTarget, start_ns: u64, out: &'a mut dyn Write) -> Self {
        let summary = CaptureSummary { seconds: 0.0, events: 0, issued: 0, completed: 0, lost: 0, not_understood: 0 };
        Self { target, start_ns, out, pending: Vec::new(), sequences: BTreeMap::new(), summary }
    }

    fn add(&mut self, lines: &[String]) {
        for line in lines {
            match BlockEvent::parse(line) {
                Some(event) if self.target.has(&event) => self.pending.push(event),
                Some(_) => {}
                // The kernel counts lost events.
                None if line.contains("[LOST ") => {}
                None => self.summary.not_understood += 1,
            }
        }
    }

    /// Writes the events before `t_ns` in order; later ones stay pending.
    fn write_before(&mut self, t_ns: u64) -> Result<(), CaptureError> {
        self.pending.sort_by_key(|event| event.t_ns);
        let count = self.pending.partition_point(|event| event.t_ns < t_ns);
        for event in self.pending.drain(..count) {
            let sequence = self.sequences.entry(event.cpu).or_default();
            *sequence += 1;
            writeln!(self.out, "{}", blkparse::text(&event, *sequence, self.start_ns)).map_err(CaptureError::Write)?;
            self.summary.events += 1;
            *if event.kind.is_completion() { &mut self.summary.completed } else { &mut self.summary.issued } += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issue(cpu: u32, us: u64, sector: u64) -> String {
        format!("  dd-7 [{cpu:03}] ..... 10.{us:06}: block_rq_issue: 8,0 W 4096 () {sector} + 8 be,0,4 [dd]")
    }

    #[test]
    fn events_of_several_processors_are_put_in_order_and_counted() {
        let mut out = Vec::new();
        let target = target::tests::disk(8, 0);
        let mut trace = TraceWriter::new(&target, 10_000_000_000, &mut out);
        let other = issue(0, 31, 9).replace(": 8,0 ", ": 8,16 ");
        trace.add(&[issue(0, 30, 3), other, "CPU:1 [LOST 5 EVENTS]".to_owned(), issue(0, 50, 5), "what?".to_owned()]);
        trace.add(&[issue(1, 20, 2)]);
        trace.write_before(10_000_040_000).unwrap();
        trace.add(&[issue(1, 45, 4)]);
        trace.write_before(u64::MAX).unwrap();
        let CaptureSummary { events, issued, completed, not_understood, .. } = trace.summary;
        assert_eq!((events, issued, completed, not_understood), (4, 4, 0, 1));
        let text = String::from_utf8(out).unwrap();
        let sectors: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().nth(7)).collect();
        assert_eq!(sectors, ["2", "3", "4", "5"]);
        let sequences: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
        assert_eq!(sequences, ["1", "1", "2", "2"], "each processor counts for itself");
    }

    #[test]
    fn a_trace_that_cannot_be_written_is_an_error() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut full = Full;
        let target = target::tests::disk(8, 0);
        let mut trace = TraceWriter::new(&target, 0, &mut full);
        trace.add(&[issue(0, 1, 1)]);
        assert!(matches!(trace.write_before(u64::MAX), Err(CaptureError::Write(_))));
    }
}
