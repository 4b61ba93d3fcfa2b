//! Records the requests that reach a block device, as `blkparse` prints them.
//!
//! The kernel tells of each request through its block events in tracefs; an instance of our own keeps them apart from
//! whoever else traces. Reading such traces is left to others.

mod blkparse;
mod line;
mod target;
pub mod tracefs;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

pub use line::{BlockEvent, Kind};
pub use target::{Target, TargetError};
pub use tracefs::TracefsError;

use crate::clock::Clock;
use tracefs::Instance;

/// How long the buffers fill before they are looked at again, once they are empty.
const PAUSE_NS: u64 = 20_000_000;

/// How much later than it happened an event may be read: so long each is held back, to be put in order with those
/// of other processors.
const ORDER_NS: u64 = 200_000_000;

/// A capture that could not be begun or carried through.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The kernel's events cannot be had.
    #[error("{0}; {remedy}", remedy = tracefs::REMEDY)]
    Tracefs(#[from] TracefsError),
    /// The kernel refused a file of the trace.
    #[error("{}: {source}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The trace cannot be written.
    #[error("the trace cannot be written: {0}")]
    Write(io::Error),
}

/// What was captured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Captured {
    /// For how long, in seconds.
    pub seconds: f64,
    /// Lines written.
    pub events: u64,
    /// Requests that went to the device.
    pub issued: u64,
    /// Requests that came back.
    pub completed: u64,
    /// Events that found no room in the kernel's buffers, and are not in the trace.
    pub lost: u64,
    /// Lines of the kernel that were not understood, and are not in the trace.
    pub not_understood: u64,
}

/// How to capture.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// What to capture.
    pub target: &'a Target,
    /// For how long.
    pub length_ns: u64,
    /// The kernel's buffer for each processor.
    pub buffer_kib: u64,
}

/// Writes the requests that reach the target to `out`, until the time is over or `interrupted` says so. What the kernel
/// was told for it is undone at the end.
///
/// # Errors
/// The kernel's events cannot be had, or `out` not be written; what was written by then stays.
pub fn capture(
    options: &Options<'_>,
    clock: &dyn Clock,
    interrupted: &AtomicBool,
    out: &mut dyn Write,
) -> Result<Captured, CaptureError> {
    let root = tracefs::find()?;
    let instance = Instance::make(&root, options.buffer_kib)?;
    let mut pipe = instance.pipe()?;
    let start_ns = clock.now_ns();
    instance.listen(options.target.kinds(), &options.target.filter())?;
    let mut trace = Trace::new(options.target, start_ns, out);
    let end_ns = start_ns.saturating_add(options.length_ns);
    let mut now_ns = start_ns;
    while now_ns < end_ns && !interrupted.load(Ordering::Relaxed) {
        let lines = pipe.lines()?;
        let empty = lines.is_empty();
        trace.take(&lines);
        trace.write_before(now_ns.saturating_sub(ORDER_NS))?;
        if empty {
            clock.sleep(PAUSE_NS.min(end_ns - now_ns));
        }
        now_ns = clock.now_ns();
    }
    instance.stop()?;
    loop {
        let lines = pipe.lines()?;
        if lines.is_empty() {
            break;
        }
        trace.take(&lines);
    }
    trace.write_before(u64::MAX)?;
    trace.out.flush().map_err(CaptureError::Write)?;
    let seconds = (now_ns - start_ns) as f64 / 1e9;
    Ok(Captured { seconds, lost: instance.lost()?, ..trace.captured })
}

/// Events on their way from the kernel's text to the trace.
struct Trace<'a> {
    target: &'a Target,
    start_ns: u64,
    out: &'a mut dyn Write,
    held: Vec<BlockEvent>,
    /// The events of each processor so far.
    sequences: BTreeMap<u32, u64>,
    captured: Captured,
}

impl<'a> Trace<'a> {
    fn new(target: &'a Target, start_ns: u64, out: &'a mut dyn Write) -> Self {
        let captured = Captured { seconds: 0.0, events: 0, issued: 0, completed: 0, lost: 0, not_understood: 0 };
        Self { target, start_ns, out, held: Vec::new(), sequences: BTreeMap::new(), captured }
    }

    fn take(&mut self, lines: &[String]) {
        for line in lines {
            match BlockEvent::parse(line) {
                Some(event) if self.target.has(&event) => self.held.push(event),
                Some(_) => {}
                // What was lost is counted by the kernel.
                None if line.contains("[LOST ") => {}
                None => self.captured.not_understood += 1,
            }
        }
    }

    /// Writes the events before `t_ns` in their order; the others wait.
    fn write_before(&mut self, t_ns: u64) -> Result<(), CaptureError> {
        self.held.sort_by_key(|event| event.t_ns);
        let count = self.held.partition_point(|event| event.t_ns < t_ns);
        for event in self.held.drain(..count) {
            let sequence = self.sequences.entry(event.cpu).or_default();
            *sequence += 1;
            writeln!(self.out, "{}", blkparse::text(&event, *sequence, self.start_ns)).map_err(CaptureError::Write)?;
            self.captured.events += 1;
            *if event.kind.is_end() { &mut self.captured.completed } else { &mut self.captured.issued } += 1;
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
        let mut trace = Trace::new(&target, 10_000_000_000, &mut out);
        let other = issue(0, 31, 9).replace(": 8,0 ", ": 8,16 ");
        trace.take(&[issue(0, 30, 3), other, "CPU:1 [LOST 5 EVENTS]".to_owned(), issue(0, 50, 5), "what?".to_owned()]);
        trace.take(&[issue(1, 20, 2)]);
        trace.write_before(10_000_040_000).unwrap();
        trace.take(&[issue(1, 45, 4)]);
        trace.write_before(u64::MAX).unwrap();
        let Captured { events, issued, completed, not_understood, .. } = trace.captured;
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
        let mut trace = Trace::new(&target, 0, &mut full);
        trace.take(&[issue(0, 1, 1)]);
        assert!(matches!(trace.write_before(u64::MAX), Err(CaptureError::Write(_))));
    }
}
