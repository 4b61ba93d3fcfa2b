//! One worker of the preparation: it creates its data, and can then run unmeasured.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use manometer_measure::{Clock as _, MonotonicClock};
use manometer_session::controller::{Controller, WorkerEvent};
use manometer_session::protocol::{Control, Job, Message};
use manometer_workload::sample::Sample;

use super::error::PrepareError;
use super::ledger::PreparedData;
use super::settle::{SettleMonitor, SettleResult};
use super::write_account::WriteAccount;
use crate::isolate::WorkerPlacement;
use crate::progress::ProgressUpdate;

/// How often the write account and the interruption flag are checked.
const POLL_NS: u64 = 100_000_000;

/// The timeout for a worker to end after `stop`: its engine may have to write what it holds in memory.
const END_PATIENCE_NS: u64 = 600_000_000_000;

/// The end of a session.
pub(super) enum StopCondition {
    /// Its data is created.
    Ready,
    /// It has written this many bytes; with a description.
    Written(u64, &'static str),
    /// It has settled.
    Settled(Box<SettleMonitor>),
}

/// The common parameters of the sessions of one preparation.
pub(super) struct PrepareContext<'a> {
    pub program: &'a Path,
    pub interrupted: &'a AtomicBool,
    pub watch: &'a mut dyn FnMut(ProgressUpdate<'_>),
}

/// Runs `job` in its own worker until `until`, waits for the worker to end, and returns how it settled, if requested. Once
/// the data exists, before it is used, the ledger gets the entries of `begun`.
pub(super) fn session(
    stage: &mut PrepareContext<'_>,
    job: &Job,
    until: StopCondition,
    begun: Option<PreparedData>,
    account: &mut WriteAccount<'_>,
) -> Result<Option<SettleResult>, PrepareError> {
    let failed = |text: String| PrepareError::Workload { workload: job.name.clone(), text };
    // Limits apply to measurements: here they would only make the preparation longer.
    let place = WorkerPlacement::default();
    let mut command = place.command(stage.program);
    // Ctrl-C at the terminal is handled here; the worker is stopped in order.
    command.process_group(0);
    let mut controller = Controller::default();
    let worker = controller.start_process(&mut command, job, place.mark(), Ok);
    let worker = worker.map_err(|error| failed(error.to_string()))?;
    account.add_process(controller.pid(worker));
    let mut session =
        PrepareSession { stage, job, until, begun, controller, worker, account, written_bytes: 0, going_ns: None };
    let settled = session.run()?;
    session.end()?;
    Ok(settled)
}

/// The consequence of a message.
enum MessageOutcome {
    GoOn,
    Enough(Option<SettleResult>),
}

struct PrepareSession<'a, 'b, 'c> {
    stage: &'a mut PrepareContext<'b>,
    job: &'a Job,
    until: StopCondition,
    begun: Option<PreparedData>,
    controller: Controller,
    worker: usize,
    account: &'a mut WriteAccount<'c>,
    written_bytes: u64,
    /// When `go` was sent.
    going_ns: Option<u64>,
}

impl PrepareSession<'_, '_, '_> {
    fn run(&mut self) -> Result<Option<SettleResult>, PrepareError> {
        let mut check_ns = MonotonicClock.now_ns();
        loop {
            let now_ns = MonotonicClock.now_ns();
            if now_ns >= check_ns {
                check_ns = now_ns + POLL_NS;
                self.check(now_ns)?;
            }
            match self.controller.receive(Duration::from_nanos(POLL_NS)) {
                Some((_, WorkerEvent::Message(_, message))) => {
                    if let MessageOutcome::Enough(settled) = self.handle_message(message)? {
                        return Ok(settled);
                    }
                }
                Some((worker, WorkerEvent::Ended)) => {
                    let text = self.controller.early_end(worker);
                    return Err(self.failed(text));
                }
                None => {}
            }
        }
    }

    fn check(&mut self, now_ns: u64) -> Result<(), PrepareError> {
        if self.stage.interrupted.load(Ordering::Relaxed) {
            return Err(PrepareError::Interrupted);
        }
        Ok(self.account.check(now_ns)?)
    }

    fn failed(&self, text: String) -> PrepareError {
        PrepareError::Workload { workload: self.job.name.clone(), text }
    }

    fn handle_message(&mut self, message: Message) -> Result<MessageOutcome, PrepareError> {
        match message {
            Message::Progress { what, done, total } => {
                (self.stage.watch)(ProgressUpdate::Preparing { workload: &self.job.name, what: &what, done, total });
            }
            Message::Ready { .. } => {
                if let Some(begun) = self.begun.take() {
                    self.account.ledger().append_prepared(begun)?;
                }
                if matches!(self.until, StopCondition::Ready) {
                    return Ok(MessageOutcome::Enough(None));
                }
                self.controller.send(self.worker, &Control::Go);
                self.going_ns = Some(MonotonicClock.now_ns());
            }
            Message::Sample(sample) => return Ok(self.sampled(&sample)),
            Message::Refused { line, reason } => return Err(self.failed(format!("it refused `{line}`: {reason}"))),
            Message::Error { text } => return Err(self.failed(text)),
            Message::Setting { .. }
            | Message::Note { .. }
            | Message::ClientLost { .. }
            | Message::Clock { .. }
            | Message::Replayed { .. }
            | Message::Done => {}
        }
        Ok(MessageOutcome::GoOn)
    }

    fn sampled(&mut self, sample: &Sample) -> MessageOutcome {
        // An interval that began before `go` does not count.
        let begin_ns = sample.t_ns.saturating_sub(sample.length_ns);
        let whole = self.going_ns.is_some_and(|going_ns| begin_ns >= going_ns);
        let (what, done, total, next) = match &mut self.until {
            StopCondition::Ready => return MessageOutcome::GoOn,
            StopCondition::Written(wanted_bytes, what) => {
                self.written_bytes += sample.operations.get("write").map_or(0, |write| write.bytes);
                let enough = self.written_bytes >= *wanted_bytes;
                let next = if enough { MessageOutcome::Enough(None) } else { MessageOutcome::GoOn };
                (*what, self.written_bytes.min(*wanted_bytes), *wanted_bytes, next)
            }
            StopCondition::Settled(settling) => {
                let ended = if whole { settling.add_sample(sample) } else { None };
                let (done_s, at_most_s) = settling.progress_s();
                let next = ended.map_or(MessageOutcome::GoOn, |settled| MessageOutcome::Enough(Some(settled)));
                ("settling", done_s as u64, at_most_s as u64, next)
            }
        };
        (self.stage.watch)(ProgressUpdate::Preparing { workload: &self.job.name, what, done, total });
        next
    }

    /// Stops the worker and waits for its end: only then its data no longer changes.
    fn end(&mut self) -> Result<(), PrepareError> {
        self.controller.send(self.worker, &Control::Stop);
        let deadline_ns = MonotonicClock.now_ns() + END_PATIENCE_NS;
        while MonotonicClock.now_ns() < deadline_ns {
            self.check(MonotonicClock.now_ns())?;
            match self.controller.receive(Duration::from_nanos(POLL_NS)) {
                Some((_, WorkerEvent::Ended)) => return Ok(()),
                Some((_, WorkerEvent::Message(_, Message::Error { text }))) => return Err(self.failed(text)),
                Some(_) | None => {}
            }
        }
        Err(self.failed("it did not end within ten minutes after `stop`".to_owned()))
    }
}
