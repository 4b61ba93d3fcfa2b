//! A worker whose workload is shared by several clients: to its controller it is one worker, and each client is a worker
//! of its own, here or on another host. All clients begin at the same moment; their samples are added up.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Duration;

use manometer_measure::plan::Settings;
use manometer_measure::{Clock as _, MonotonicClock};
use manometer_workload::interface::ClientShare;
use manometer_workload::replay::START;
use manometer_workload::settings::WorkloadSettings;

use super::client_share::{job_of, setting_of};
use super::merged_messages::MergedMessages;
use super::{Group, GroupError, GroupObserver as _, HostClock, OnLost};
use crate::control::{Controls, MessageSink};
use crate::error::SessionError;
use crate::protocol::{ClientGroup, Control, Job};

/// How long the clients' messages are waited for before control lines are looked at again.
const POLL: Duration = Duration::from_millis(2);
/// How long before the clients begin they are told so, in nanoseconds, besides three times the uncertainty of their
/// clocks, which is at least half of a round trip. A worker looks at its control lines every 10 ms.
const LEAD_NS: u64 = 12_000_000;

/// Runs `job` by its `clients`, to its end or until it is stopped.
///
/// # Errors
/// A client could not begin, or was lost and the load may not go on without it.
pub(crate) fn run_clients(
    job: &Job,
    clients: &ClientGroup,
    controls: &Controls,
    sink: &mut dyn MessageSink,
) -> Result<(), SessionError> {
    let shares: Vec<ClientShare> = (0..clients.count).map(|part| ClientShare { part, of: clients.count }).collect();
    let jobs = shares.iter().map(|share| job_of(job, *share)).collect::<Result<Vec<Job>, String>>();
    let jobs = jobs.map_err(SessionError::NotShared)?;
    let program = std::env::current_exe().map_err(|error| SessionError::NotShared(error.to_string()))?;
    let early = EarlyControls { controls, queued: RefCell::default(), is_stopped: Cell::new(false) };
    let is_interrupted = || early.is_stopped();
    let mut merged = MergedMessages::new(jobs.len(), job.interval_ms.saturating_mul(1_000_000), sink);
    let group = match Group::start(&program, &jobs, &clients.hosts, &is_interrupted, &mut merged) {
        Ok(group) => group,
        Err(GroupError::Interrupted) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let is_replay = matches!(job.workload, WorkloadSettings::Replay(_));
    let mut load =
        SharedLoad { group, shares, clocks: Vec::new(), on_lost: clients.on_lost, is_replay, has_begun: false };
    let outcome = load.begin().and_then(|()| load.run(&early));
    load.end();
    outcome
}

/// The control lines, of which some arrive before all clients are ready.
struct EarlyControls<'a> {
    controls: &'a Controls,
    queued: RefCell<VecDeque<Control>>,
    is_stopped: Cell<bool>,
}

impl EarlyControls<'_> {
    /// Whether a stop has arrived; what comes before it is kept.
    fn is_stopped(&self) -> bool {
        while let Some(control) = self.controls.poll() {
            match control {
                Control::Stop => self.is_stopped.set(true),
                other => self.queued.borrow_mut().push_back(other),
            }
            if self.is_stopped.get() {
                break;
            }
        }
        self.is_stopped.get()
    }

    /// The next one; a stop comes before all others.
    fn next(&self) -> Option<Control> {
        if self.is_stopped() { Some(Control::Stop) } else { self.queued.borrow_mut().pop_front() }
    }
}

/// A load that clients share.
struct SharedLoad<'a, 's> {
    group: Group<'a, MergedMessages<'s>>,
    shares: Vec<ClientShare>,
    /// The clock of each client on another host.
    clocks: Vec<Option<HostClock>>,
    on_lost: OnLost,
    is_replay: bool,
    has_begun: bool,
}

impl SharedLoad<'_, '_> {
    /// Compares the clocks, and reports that the workload is ready.
    fn begin(&mut self) -> Result<(), SessionError> {
        self.clocks = self.group.compare_clocks()?;
        let hosts = self.group.members.iter().map(|member| member.on.clone()).collect();
        self.group.observer.clocks_compared(self.clocks.iter().flatten().cloned().collect());
        self.group.observer.ready(hosts);
        Ok(())
    }

    /// Runs until stopped, until every client has ended, or until the receiver of messages is gone.
    fn run(&mut self, controls: &EarlyControls<'_>) -> Result<(), SessionError> {
        loop {
            match controls.next() {
                Some(Control::Stop) => return Ok(()),
                Some(Control::Go) => self.go(MonotonicClock.now_ns() + self.lead_ns()),
                Some(Control::GoAt(t_ns)) => self.go(t_ns),
                Some(Control::Wait) => {
                    self.group.observer.pause();
                    self.group.send_all(&Control::Wait);
                }
                Some(Control::Set(changes)) => self.set(changes),
                None => {}
            }
            if let Some((index, event)) = self.group.controller.receive(POLL) {
                if let Some(reason) = self.group.receive(index, event) {
                    self.lose(index, &reason)?;
                }
                if self.group.members[index].has_ended {
                    self.group.observer.ended(index);
                }
            }
            let now_ns = MonotonicClock.now_ns();
            if let Some((index, reason)) = self.group.observer.silent_client(now_ns) {
                self.lose(index, &reason)?;
            }
            self.group.observer.merge(now_ns);
            if let Some(error) = self.group.observer.take_disconnection() {
                return Err(SessionError::Disconnected(error));
            }
            if self.group.members.iter().all(|member| member.has_replayed || member.has_ended) {
                return Ok(());
            }
        }
    }

    /// How long before the beginning the clients are told.
    fn lead_ns(&self) -> u64 {
        let within_ns = self.clocks.iter().flatten().map(|clock| clock.offset.within_ns).max().unwrap_or(0);
        LEAD_NS + 3 * within_ns
    }

    /// Has every client begin at `t_ns` of the local clock.
    fn go(&mut self, t_ns: u64) {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        for index in 0..self.group.members.len() {
            let clock = self.clocks[index].as_ref();
            let there_ns = clock.map_or(t_ns, |clock| clock.offset.there_ns(t_ns));
            if self.is_replay && is_first {
                let start = Settings::from_iter([(START.to_owned(), there_ns.into())]);
                self.group.controller.send(index, &Control::Set(start));
            }
            self.group.controller.send(index, &Control::GoAt(there_ns));
        }
        self.group.observer.go(t_ns);
    }

    /// Changes settings: each client gets its part of what clients divide.
    fn set(&mut self, changes: Settings) {
        let part = |share: ClientShare| {
            let part = |(name, value): (&String, _)| Ok((name.clone(), setting_of(name, value, share)?));
            changes.iter().map(part).collect::<Result<Settings, String>>()
        };
        let parts = self.shares.iter().map(|share| part(*share)).collect::<Result<Vec<Settings>, String>>();
        match parts {
            Ok(parts) => {
                self.group.observer.expect_change(changes);
                for (index, part) in parts.into_iter().enumerate() {
                    self.group.controller.send(index, &Control::Set(part));
                }
            }
            Err(reason) => self.group.observer.refuse(changes, reason),
        }
    }

    /// Handles the loss of a client: the load goes on without it, or fails.
    fn lose(&mut self, index: usize, reason: &str) -> Result<(), SessionError> {
        if std::mem::replace(&mut self.group.members[index].is_lost, true) {
            return Ok(());
        }
        self.group.controller.end(index);
        self.group.observer.lost(index, reason);
        let (number, of) = (index + 1, self.group.members.len());
        let left = self.group.members.iter().filter(|member| !member.is_lost).count();
        let host = self.group.members[index].on.clone();
        let error = SessionError::ClientLost { number, of, host, reason: reason.to_owned() };
        if self.on_lost == OnLost::Stop || left == 0 {
            return Err(error);
        }
        self.group.observer.report_loss(format!("{error}; from here on the load is that of {left} clients"));
        Ok(())
    }

    /// Ends every client, and reports what is left of their samples.
    fn end(&mut self) {
        // A clock that cannot be read any more belongs to a client that has ended; the load itself is over.
        if self.group.compare_clocks_again(&mut self.clocks).is_ok() {
            self.group.observer.clocks_compared(self.clocks.iter().flatten().cloned().collect());
        }
        self.group.send_all(&Control::Wait);
        if let Err(error) = self.group.end() {
            tracing::debug!("not every client ended in order: {error}");
        }
        self.group.observer.finish();
    }
}
