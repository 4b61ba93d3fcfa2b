//! `manometer io`: one `io` workload, from flags.

mod args;
mod json;
mod live;
mod summary;
mod text;

use std::io::IsTerminal as _;
use std::sync::atomic::Ordering;

use manometer_measure::MonotonicClock;
use manometer_session::error::SessionError;
use manometer_session::protocol::{Control, Message};
use manometer_session::single::{self, MessageHandler};
use manometer_session::worker_loop;
use manometer_workload::interface::WorkloadData;
use manometer_workload::io::{self, IoJob};

use self::live::LiveText;
use self::summary::IoSummary;
use crate::exit_status::{ExitStatus, wrong_request};
use crate::output::Format;
use crate::process;

pub use self::args::Args;

/// Runs the workload and prints the result.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let job = match args.job() {
        Ok(job) => job,
        Err(reason) => return Ok(wrong_request(reason)),
    };
    let created: Vec<_> = job.paths.iter().filter(|path| !path.exists()).cloned().collect();
    let measured = measure(args, &job);
    if !args.keep {
        created.iter().for_each(|path| drop(std::fs::remove_file(path)));
    }
    match measured {
        Ok(summary) => print(args, &job, &summary),
        Err(error) if error.is_wrong_request() => Ok(wrong_request(error)),
        Err(error) => Err(error.into()),
    }
}

/// Runs the workload until it ends, its time is over, or a signal arrives.
fn measure(args: &Args, job: &IoJob) -> Result<IoSummary, SessionError> {
    let interrupted = process::interruption().map_err(SessionError::Disconnected)?;
    let live = (args.format == Format::Text).then(|| LiveText::new(std::io::stderr().is_terminal()));
    let mut observer = IoObserver { summary: IoSummary::default(), live, seconds: args.seconds(), end_ns: None };
    let (job, interval_ns) = (job.clone(), args.interval.nanoseconds());
    single::run_work("io", &interrupted, &mut observer, move |controls, sink| {
        worker_loop::with_session(interval_ns, controls, sink, &MonotonicClock, |session| {
            io::run(&job, session, &MonotonicClock).map(|()| WorkloadData::default())
        })
    })?;
    observer.summary.interrupted = interrupted.load(Ordering::SeqCst);
    Ok(observer.summary)
}

/// Takes the messages of the workload into the summary and prints them.
struct IoObserver {
    summary: IoSummary,
    live: Option<LiveText>,
    seconds: Option<f64>,
    /// When the time is over; none before the workload is ready, and for a trace.
    end_ns: Option<u64>,
}

impl MessageHandler for IoObserver {
    fn receive(&mut self, message: Message, received_ns: u64) -> Vec<Control> {
        let is_ready = matches!(message, Message::Ready { .. });
        if is_ready {
            self.end_ns = self.seconds.map(|seconds| received_ns.saturating_add((seconds * 1e9) as u64));
        }
        if let Some(live) = &mut self.live {
            // A closed pipe must not end a measurement.
            let _ = live.message(&message);
        }
        self.summary.message(message);
        if is_ready { vec![Control::Go] } else { Vec::new() }
    }

    fn is_over(&self, now_ns: u64) -> bool {
        self.end_ns.is_some_and(|end_ns| now_ns >= end_ns)
    }
}

fn print(args: &Args, job: &IoJob, summary: &IoSummary) -> anyhow::Result<ExitStatus> {
    if summary.is_empty() {
        anyhow::bail!("stopped before anything was measured");
    }
    args.format.print(|| json::document(summary, job), || text::text(summary))?;
    Ok(ExitStatus::Done)
}
