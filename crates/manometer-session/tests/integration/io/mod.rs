//! Tests of `io` sessions on a simulated device and on the disk.

mod closed_loop;
mod device;
mod disk;
mod recorded;
mod requests;

use manometer_measure::MonotonicClock;
use manometer_session::control::{Controls, MessageSink};
use manometer_session::worker_loop::with_session;
use manometer_workload::io::{self, IoError, IoJob};

use crate::support::kind_error;

/// Runs `job` with samples every 5 ms.
fn run_job(job: &IoJob, controls: &Controls, sink: &mut dyn MessageSink) -> Result<(), IoError> {
    let ended =
        with_session(5_000_000, controls, sink, &MonotonicClock, |session| io::run(job, session, &MonotonicClock));
    ended.map_err(kind_error)
}
