//! One run, from the start of the workers to the end of the recording.

mod begin;
mod conditions;
mod member;
mod messages;
mod phase;
mod rounds;
mod silence;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use manometer_measure::clock::next_tick_ns;
use manometer_measure::event::{Event, Finding, RunStatus};
use manometer_measure::host::Observer;
use manometer_measure::plan::{Phase, Plan};
use manometer_measure::{Clock as _, Directory, MonotonicClock, RecordingError, Span};
use manometer_session::controller::{Controller, WorkerEvent};
use manometer_session::listening_time::ListeningTime;
use manometer_session::protocol::{Control, Message};

use self::conditions::{
    bounds_direct_writes_only, budget_passed, database_in_memory, device_unseen, isolation_lost, recording_on_device,
};
use self::member::Member;
use self::silence::DeviceWatch;
use super::RunError;
use super::phase_stop::LiveMetrics;
use super::recorder::RunRecorder;
use crate::definition::{Experiment, PhaseStop};
use crate::isolate::RunIsolation;
use crate::prepare::PreparedRun;
use crate::prepare::ledger::Ledger;
use crate::prepare::write_account::{WriteAccount, WriteStop};
use crate::progress::ProgressUpdate;
use crate::setup::RunSetup;

/// The timeout for workers to end after `stop`.
const STOP_PATIENCE_NS: u64 = 10_000_000_000;

/// How often the interruption flag is checked.
const INTERRUPT_CHECK_NS: u64 = 100_000_000;

/// Runs the experiment in a directory that is locked and prepared.
pub(super) fn run(
    experiment: &Experiment,
    setup: &RunSetup<'_>,
    out: &Directory,
    prepared: &PreparedRun,
    ledger: &mut Ledger,
    created: &mut BTreeSet<PathBuf>,
    watch: &mut dyn FnMut(ProgressUpdate<'_>),
) -> Result<RunStatus, RunError> {
    let mut run = Run::begin(experiment, setup, out, prepared, ledger, watch)?;
    let writes = run.isolated.limits_direct_writes_only(experiment).then(bounds_direct_writes_only);
    let unseen = device_unseen(&run.environment, &experiment.directory);
    let conditions = [unseen, recording_on_device(out.path(), experiment), writes];
    let known = experiment.findings.iter().chain(&prepared.findings).cloned();
    for finding in known.chain(conditions.into_iter().flatten()) {
        run.finding(finding)?;
    }
    run.prepare()?;
    let facts = run.members.first().and_then(|primary| primary.facts.as_ref());
    if let Some(finding) = database_in_memory(experiment, facts) {
        run.finding(finding)?;
    }
    run.phases()?;
    run.end(created)
}

struct Run<'a> {
    setup: &'a RunSetup<'a>,
    watch: &'a mut dyn FnMut(ProgressUpdate<'_>),
    plan: Plan,
    environment: serde_json::Value,
    recorder: RunRecorder,
    /// Operations without a column that were reported.
    unrecorded: BTreeSet<String>,
    members: Vec<Member>,
    controller: Controller,
    /// How many workers have not ended their output.
    open_outputs: usize,
    /// Dropped after the controller, whose workers end first: the control groups that it removes must be empty.
    isolated: RunIsolation,
    observers: Vec<Box<dyn Observer>>,
    interval_ns: u64,
    /// The limit of silence of workers and device.
    silence: Span,
    /// The clock of their silence.
    listened: ListeningTime,
    device: DeviceWatch,
    device_is_silent: bool,
    next_tick_ns: u64,
    /// The bytes written to the device, and the reason to stop, if any.
    account: WriteAccount<'a>,
    spent: Option<String>,
    /// The end of the current phase, and the duration of the later ones.
    phase_end_ns: u64,
    after_phase_s: f64,
    /// When to stop extending phases or adding rounds, and the samples of the current phase.
    stop: Option<PhaseStop>,
    live: LiveMetrics,
    failed: bool,
}

impl Run<'_> {
    fn interrupted(&self) -> bool {
        self.setup.interrupted.load(Ordering::Relaxed)
    }

    fn finding(&mut self, finding: Finding) -> Result<(), RecordingError> {
        (self.watch)(ProgressUpdate::Finding(&finding));
        self.recorder.recording.event(MonotonicClock.now_ns(), Event::Finding(finding))
    }

    /// Runs all phases: one after another, and those of an interleaved plan in rounds, after the others.
    fn phases(&mut self) -> Result<(), RunError> {
        let rounds = self.plan.interleaved.clone();
        let is_in_blocks = |phase: &Phase| rounds.as_ref().is_some_and(|rounds| rounds.has(&phase.id));
        for phase in self.plan.phases.clone().iter().filter(|phase| !is_in_blocks(phase)) {
            self.phase(phase)?;
        }
        rounds.map_or(Ok(()), |rounds| self.rounds(&rounds))?;
        self.hear_everyone()
    }

    /// Writes `environment.json`, with the facts that observers have of the device.
    fn write_environment(&mut self) -> Result<(), RunError> {
        for (name, facts) in self.observers.iter().filter_map(|observer| observer.device_facts()) {
            self.environment["device"][name] = facts;
        }
        Ok(self.recorder.recording.environment(&self.environment)?)
    }

    /// Ends workloads that have lost their control group: their limits no longer apply.
    fn check_isolation(&mut self) -> Result<(), RunError> {
        for index in 0..self.members.len() {
            let member = &self.members[index];
            if !member.is_active() || !self.controller.is_alive(index) {
                continue;
            }
            if let Some(reason) = self.isolated.loss(index, self.controller.pid(index)) {
                let text = format!("`{}`: {reason}", member.part.name);
                self.fail_worker(index, Some(reason))?;
                self.finding(isolation_lost(text))?;
            }
        }
        Ok(())
    }

    /// Handles messages and ticks until `deadline_ns`, or until `done`.
    fn pump(&mut self, deadline_ns: u64, done: impl Fn(&Self) -> bool) -> Result<(), RunError> {
        while !done(self) && !self.interrupted() {
            let now_ns = MonotonicClock.now_ns();
            if now_ns >= self.next_tick_ns {
                self.tick()?;
            }
            if now_ns >= deadline_ns {
                break;
            }
            let until_ns = deadline_ns.min(self.next_tick_ns).saturating_sub(now_ns).min(INTERRUPT_CHECK_NS);
            match self.controller.receive(Duration::from_nanos(until_ns)) {
                Some((index, WorkerEvent::Message(_, message))) => self.handle_message(index, message)?,
                Some((index, WorkerEvent::Ended)) => {
                    self.open_outputs -= 1;
                    self.fail_worker(index, None)?;
                }
                None => {}
            }
        }
        Ok(())
    }

    /// A sample interval has passed.
    fn tick(&mut self) -> Result<(), RunError> {
        let t_ns = self.next_tick_ns;
        self.check_write_account()?;
        self.recorder.observe(t_ns, &mut self.observers)?;
        self.check_isolation()?;
        self.listened.tick(MonotonicClock.now_ns(), 2 * self.interval_ns);
        self.check_silence()?;
        self.check_device()?;
        self.next_tick_ns = next_tick_ns(MonotonicClock.now_ns(), self.interval_ns);
        let phase_left_s = self.phase_end_ns.saturating_sub(t_ns) as f64 / 1e9;
        if self.phase_end_ns > 0 {
            (self.watch)(ProgressUpdate::Tick { phase_left_s, run_left_s: phase_left_s + self.after_phase_s });
        }
        Ok(())
    }

    /// Stops the run before it exceeds its write budget, or when its writes cannot be counted.
    fn check_write_account(&mut self) -> Result<(), RunError> {
        match self.account.check(MonotonicClock.now_ns()) {
            Err(stop) if self.spent.is_none() => self.stop_run(&stop),
            _ => Ok(()),
        }
    }

    /// Kills every worker and skips all further phases. None is stopped in order: an engine that closes writes what it holds
    /// in memory, and its log is safe.
    fn stop_run(&mut self, stop: &WriteStop) -> Result<(), RunError> {
        self.stop_workers(&stop.to_string());
        Ok(self.finding(stop.finding())?)
    }

    fn stop_workers(&mut self, reason: &str) {
        for (index, member) in self.members.iter_mut().enumerate().filter(|(_, member)| member.failure.is_none()) {
            self.controller.end(index);
            member.failure = Some(reason.to_owned());
            member.running = false;
        }
        self.spent = Some(reason.to_owned());
        self.failed = true;
    }

    /// Ends the workers, then the recording; adds the folders whose data they created to `created`.
    fn end(mut self, created: &mut BTreeSet<PathBuf>) -> Result<RunStatus, RunError> {
        let status = match (self.interrupted(), self.failed) {
            (true, _) => RunStatus::Interrupted,
            (false, true) => RunStatus::Failed,
            (false, false) => RunStatus::Complete,
        };
        (0..self.members.len()).for_each(|index| self.controller.send(index, &Control::Stop));
        let deadline_ns = MonotonicClock.now_ns() + STOP_PATIENCE_NS;
        // The last sample of the last phase may still arrive; anything else is ignored.
        while self.open_outputs > 0 && MonotonicClock.now_ns() < deadline_ns {
            match self.controller.receive(Duration::from_nanos(INTERRUPT_CHECK_NS)) {
                Some((_, WorkerEvent::Ended)) => self.open_outputs -= 1,
                Some((index, WorkerEvent::Message(_, last @ (Message::Sample(_) | Message::Replayed { .. })))) => {
                    self.handle_message(index, last)?;
                }
                Some(_) | None => {}
            }
        }
        self.recorder.observe_last(MonotonicClock.now_ns(), &mut self.observers)?;
        self.write_environment()?;
        let makers = self.members.iter().filter(|member| member.created_data());
        created.extend(makers.filter_map(|member| member.folder.clone()));
        // Writes of the engines as they close count as well.
        self.controller.end_all();
        // Whoever waits for writes to reach a device that does not answer never ends.
        if !self.device_is_silent
            && let Some(beyond) = self.account.overrun()
        {
            self.finding(budget_passed(beyond))?;
        }
        self.recorder.recording.finish(MonotonicClock.now_ns(), status)?;
        // The ledger is on the device. Where it cannot be written, the next run closes this one's entry.
        if !self.device_is_silent {
            match self.account.close() {
                Err(error) if status == RunStatus::Failed => tracing::warn!("{error}"),
                closed => closed?,
            }
        }
        Ok(status)
    }
}
