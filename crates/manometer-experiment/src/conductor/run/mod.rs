//! One run, from starting the workers to the end of the recording.

mod begin;
mod conditions;
mod hear;
mod member;
mod phase;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use manometer_measure::clock::next_multiple;
use manometer_measure::event::{Event, Finding, Status};
use manometer_measure::host::Observer;
use manometer_measure::plan::Plan;
use manometer_measure::{Clock as _, MonotonicClock, RecordingError};
use manometer_workload::protocol::{Control, Message};

use self::conditions::{
    bounds_direct_writes_only, budget_passed, database_in_memory, device_unseen, isolation_lost, recording_on_device,
};
use self::member::Member;
use super::narrow::Live;
use super::process::Told;
use super::scribe::Scribe;
use super::{RunError, Setup, Update};
use crate::file::{Experiment, PhaseStop};
use crate::isolate::Isolated;
use crate::prepare::Brought;
use crate::prepare::account::{Account, Halt};
use crate::prepare::ledger::Ledger;

/// How long workers may take to end when told.
const STOP_PATIENCE_NS: u64 = 10_000_000_000;

/// How often an interruption is looked for.
const INTERRUPT_CHECK_NS: u64 = 100_000_000;

/// Runs the experiment in a directory that is already held and prepared.
pub(super) fn run(
    experiment: &Experiment,
    setup: &Setup<'_>,
    brought: &Brought,
    ledger: &mut Ledger,
    made: &mut BTreeSet<PathBuf>,
    watch: &mut dyn FnMut(Update<'_>),
) -> Result<Status, RunError> {
    let mut run = Run::begin(experiment, setup, brought, ledger, watch)?;
    let writes = run.isolated.bounds_direct_writes_only(experiment).then(bounds_direct_writes_only);
    let unseen = device_unseen(&run.environment, &experiment.directory);
    let conditions = [unseen, recording_on_device(setup, experiment), database_in_memory(experiment), writes];
    let known = experiment.known.iter().chain(&brought.findings).cloned();
    for finding in known.chain(conditions.into_iter().flatten()) {
        run.finding(finding)?;
    }
    run.prepare()?;
    for phase in run.plan.phases.clone() {
        run.phase(&phase)?;
    }
    run.end(made)
}

struct Run<'a> {
    setup: &'a Setup<'a>,
    watch: &'a mut dyn FnMut(Update<'_>),
    plan: Plan,
    environment: serde_json::Value,
    scribe: Scribe,
    /// Operations whose counts have no column, as they have been told.
    unrecorded: BTreeSet<String>,
    members: Vec<Member>,
    /// Behind the members: what it takes away must be empty of them.
    isolated: Isolated,
    told: Receiver<(usize, Told)>,
    observers: Vec<Box<dyn Observer>>,
    interval_ns: u64,
    next_beat_ns: u64,
    /// What the run writes to the device, and why it has to stop where it has to.
    account: Account<'a>,
    spent: Option<String>,
    /// When the phase that runs ends, and how long those after it take.
    phase_end_ns: u64,
    after_phase_s: f64,
    /// Until when phases are prolonged, and what is known of the one that runs.
    stop: Option<PhaseStop>,
    live: Live,
    failed: bool,
}

impl Run<'_> {
    fn interrupted(&self) -> bool {
        self.setup.interrupted.load(Ordering::Relaxed)
    }

    fn finding(&mut self, finding: Finding) -> Result<(), RecordingError> {
        (self.watch)(Update::Finding(&finding));
        self.scribe.recording.event(MonotonicClock.now_ns(), Event::Finding(finding))
    }

    /// Writes the environment down, with what observers have learnt of the device by now.
    fn write_environment(&mut self) -> Result<(), RunError> {
        for (name, facts) in self.observers.iter().filter_map(|observer| observer.device_facts()) {
            self.environment["device"][name] = facts;
        }
        Ok(self.scribe.recording.environment(&self.environment)?)
    }

    /// Ends workloads whose control group is no longer around them: their limits no longer hold.
    fn check_isolation(&mut self) -> Result<(), RunError> {
        for index in 0..self.members.len() {
            let member = &self.members[index];
            if !member.is_there() || !member.worker.is_alive() {
                continue;
            }
            if let Some(reason) = self.isolated.lost(index, member.worker.pid) {
                let text = format!("`{}`: {reason}", member.part.name);
                self.lost(index, Some(reason))?;
                self.finding(isolation_lost(text))?;
            }
        }
        Ok(())
    }

    /// Handles what workers tell and the beat brings until `deadline_ns`, or until `done`.
    fn pump(&mut self, deadline_ns: u64, done: impl Fn(&Self) -> bool) -> Result<(), RunError> {
        while !done(self) && !self.interrupted() {
            let now_ns = MonotonicClock.now_ns();
            if now_ns >= self.next_beat_ns {
                self.beat()?;
            }
            if now_ns >= deadline_ns {
                break;
            }
            let until_ns = deadline_ns.min(self.next_beat_ns).saturating_sub(now_ns).min(INTERRUPT_CHECK_NS);
            match self.told.recv_timeout(Duration::from_nanos(until_ns)) {
                Ok((index, Told::Message(message))) => self.hear(index, message)?,
                Ok((index, Told::End)) => self.lost(index, None)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => MonotonicClock.sleep(until_ns),
            }
        }
        Ok(())
    }

    /// One sample interval has passed.
    fn beat(&mut self) -> Result<(), RunError> {
        let t_ns = self.next_beat_ns;
        self.look_at_account()?;
        self.scribe.observe(t_ns, &mut self.observers)?;
        self.check_isolation()?;
        self.next_beat_ns = next_multiple(MonotonicClock.now_ns(), self.interval_ns);
        let phase_left_s = self.phase_end_ns.saturating_sub(t_ns) as f64 / 1e9;
        if self.phase_end_ns > 0 {
            (self.watch)(Update::Beat { phase_left_s, run_left_s: phase_left_s + self.after_phase_s });
        }
        Ok(())
    }

    /// Stops the run before it passes its write budget, or when what it writes can no longer be counted.
    fn look_at_account(&mut self) -> Result<(), RunError> {
        match self.account.look(MonotonicClock.now_ns()) {
            Err(halt) if self.spent.is_none() => self.halt(&halt),
            _ => Ok(()),
        }
    }

    /// Ends every worker, and no phase runs any more. None is told to stop: an engine that closes writes what it holds in
    /// memory, and what its log holds is safe.
    fn halt(&mut self, halt: &Halt) -> Result<(), RunError> {
        for member in self.members.iter_mut().filter(|member| member.gone.is_none()) {
            member.worker.end();
            member.gone = Some(halt.to_string());
            member.running = false;
        }
        self.spent = Some(halt.to_string());
        self.failed = true;
        Ok(self.finding(halt.finding())?)
    }

    /// Ends the workers, then the recording; adds to `made` the folders whose data they made.
    fn end(mut self, made: &mut BTreeSet<PathBuf>) -> Result<Status, RunError> {
        let status = match (self.interrupted(), self.failed) {
            (true, _) => Status::Interrupted,
            (false, true) => Status::Failed,
            (false, false) => Status::Complete,
        };
        for member in &mut self.members {
            member.worker.tell(&Control::Stop);
        }
        let deadline_ns = MonotonicClock.now_ns() + STOP_PATIENCE_NS;
        let mut left = self.members.len();
        // The last phase's last sample may still be on its way; all else has no meaning any more.
        while left > 0 && MonotonicClock.now_ns() < deadline_ns {
            match self.told.recv_timeout(Duration::from_nanos(INTERRUPT_CHECK_NS)) {
                Ok((_, Told::End)) => left -= 1,
                Ok((index, Told::Message(last @ (Message::Sample(_) | Message::Replayed { .. })))) => {
                    self.hear(index, last)?;
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.scribe.observe_last(MonotonicClock.now_ns(), &mut self.observers)?;
        self.write_environment()?;
        let makers = self.members.iter().filter(|member| member.made_its_data());
        made.extend(makers.filter_map(|member| member.folder.clone()));
        // What the engines write while they close counts as well.
        self.members.clear();
        if let Some(beyond) = self.account.passed_by() {
            self.finding(budget_passed(beyond))?;
        }
        self.scribe.recording.finish(MonotonicClock.now_ns(), status)?;
        self.account.close()?;
        Ok(status)
    }
}

/// A seed of its own for each worker, from the run's.
pub(crate) fn seed_of(seed: u64, index: usize) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(index as u64 + 1)
}
