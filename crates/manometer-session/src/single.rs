//! Runs one workload on a thread of this process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use manometer_measure::{Clock as _, MonotonicClock};
use manometer_workload::interface::WorkloadData;

use crate::control::{Controls, MessageSink};
use crate::controller::{Controller, WorkerEvent};
use crate::error::SessionError;
use crate::protocol::{Control, Job, Message};
use crate::worker_loop;

/// How often the end of the run and an interruption are polled.
const POLL: Duration = Duration::from_millis(10);

/// Receives a workload's messages and controls it.
pub trait MessageHandler {
    /// Handles `message`, which arrived at `received_ns`. Returns controls to send.
    fn receive(&mut self, message: Message, received_ns: u64) -> Vec<Control>;

    /// Whether the workload should stop.
    fn is_over(&self, now_ns: u64) -> bool;
}

/// Runs `job` until it ends, until `observer` is over, or until `interrupted`.
///
/// # Errors
/// The session failed.
pub fn run(
    job: &Job,
    interrupted: &AtomicBool,
    observer: &mut dyn MessageHandler,
) -> Result<WorkloadData, SessionError> {
    let job = job.clone();
    let name = job.name.clone();
    run_work(&name, interrupted, observer, move |controls, sink| {
        worker_loop::run(&job, controls, sink, &MonotonicClock)
    })
}

/// As [`run`], for any `work` that runs a session.
///
/// # Errors
/// The session failed, or its thread cannot be started.
pub fn run_work(
    name: &str,
    interrupted: &AtomicBool,
    observer: &mut dyn MessageHandler,
    work: impl FnOnce(&Controls, &mut dyn MessageSink) -> Result<WorkloadData, SessionError> + Send + 'static,
) -> Result<WorkloadData, SessionError> {
    let mut controller = Controller::default();
    let worker = controller.start_thread(name, work)?;
    let mut is_stopped = false;
    loop {
        match controller.receive(POLL) {
            Some((_, WorkerEvent::Message(received_ns, message))) => {
                for control in observer.receive(message, received_ns) {
                    controller.send(worker, &control);
                }
            }
            Some((_, WorkerEvent::Ended)) => return controller.join(worker),
            None => {}
        }
        let is_over = interrupted.load(Ordering::Relaxed) || observer.is_over(MonotonicClock.now_ns());
        if is_over && !std::mem::replace(&mut is_stopped, true) {
            controller.send(worker, &Control::Stop);
        }
    }
}
