//! One run, from starting the workers to the end of the recording.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use manometer_measure::clock::{WallAnchor, next_multiple};
use manometer_measure::doctor::Facts;
use manometer_measure::event::{Event, Finding, Severity, Status};
use manometer_measure::host::{self, Border, Observer, environment};
use manometer_measure::plan::{Phase, PhaseKind, Plan, Settings, Workload as Part};
use manometer_measure::{ByteSize, Clock as _, MonotonicClock, RecordingError, RecordingWriter};
use manometer_workload::protocol::{Control, Job, Message};

use super::narrow::{Live, Next, most_s, next};
use super::process::{Told, Worker};
use super::scribe::Scribe;
use super::{RunError, Setup, Update, existing, same_device};
use crate::file::{Experiment, PhaseStop};
use crate::isolate::{Isolated, Setting};
use crate::prepare::Brought;
use crate::prepare::account::{Account, Halt};
use crate::prepare::ledger::Ledger;

/// How long a worker may take to put settings into force: a deep queue on a slow disk has to drain.
const SETTING_PATIENCE_NS: u64 = 60_000_000_000;

/// How long workers may take to end when told.
const STOP_PATIENCE_NS: u64 = 10_000_000_000;

/// How late after its beat a sample may end and still count: this part of an interval, and no longer than
/// the next.
const SAMPLE_LATENESS_DIVISOR: u64 = 20;
const MAX_SAMPLE_LATENESS_NS: u64 = 50_000_000;

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

/// A workload of the run and its worker.
struct Member {
    worker: Worker,
    /// Where its data lies; nothing for an engine that keeps none.
    folder: Option<PathBuf>,
    part: Part,
    /// What it said when it was ready; nothing before.
    facts: Option<Settings>,
    /// Why it is no more.
    gone: Option<String>,
    /// That its trace came to its end, and so it did; nothing where it did not, or has none.
    ended: Option<String>,
    /// Whether its worker ended as it should, of itself.
    has_left: bool,
    running: bool,
    /// Whether its data were prepared before the run.
    prepared: bool,
    /// Its settings that some phase changes, as they are in force.
    settings: Settings,
    /// Whether it owes the answer to a `set`.
    pending: bool,
}

impl Member {
    /// Whether its worker does as it is told.
    fn is_there(&self) -> bool {
        self.gone.is_none() && !self.has_left
    }

    /// Its worker ended as it should, of itself: it answers nothing any more.
    fn leave(&mut self) {
        self.has_left = true;
        self.running = false;
        self.pending = false;
    }

    /// Whether what lies in its folder was made in this run, to the end.
    fn made_its_data(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.get("reused") != Some(&serde_json::Value::Bool(true)))
    }
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

impl<'a> Run<'a> {
    fn begin(
        experiment: &Experiment,
        setup: &'a Setup<'a>,
        brought: &Brought,
        ledger: &'a mut Ledger,
        watch: &'a mut dyn FnMut(Update<'_>),
    ) -> Result<Self, RunError> {
        let plan = crate::plan::plan(experiment);
        let isolated = Isolated::begin(experiment)?;
        let mut environment = environment::describe(&experiment.directory);
        environment["device_state"] = brought.state.clone();
        environment["fit"] = serde_json::json!(experiment.shrunk_by);
        environment["files"] = serde_json::json!(experiment.referenced());
        let tried = manometer_target::file::probe(&experiment.directory);
        environment["doctor"] = serde_json::json!(Facts::read(&experiment.directory, tried).checks());
        if let Some(told) = isolated.environment() {
            environment["isolation"] = told;
        }
        let start = WallAnchor::now();
        let recording = RecordingWriter::create(&setup.out, start, &experiment.to_toml(), &plan, &environment)?;
        let now_ns = MonotonicClock.now_ns();
        let mut account = Account::open(ledger, &experiment.directory, "run", experiment.write_budget, now_ns)?;
        let (sender, told) = channel();
        let mut members = Vec::new();
        let mut observers = host::observers(&experiment.directory);
        for (index, (workload, part)) in experiment.workloads().zip(&plan.workloads).enumerate() {
            let folder = experiment.directory.join(&workload.name);
            let prepared = brought.prepared.contains(&folder);
            let job = Job {
                name: workload.name.clone(),
                directory: experiment.directory.clone(),
                existing: existing(setup.reuse, prepared || setup.made.contains(&folder)),
                interval_ms: u64::try_from(experiment.interval.0.as_millis()).unwrap_or(u64::MAX),
                seed: seed_of(experiment.seed, index),
                removes: false,
                workload: workload.settings.clone(),
            };
            let worker = Worker::start(&setup.program, isolated.place(index), &job, index, sender.clone())?;
            account.watch(worker.pid);
            observers.iter_mut().for_each(|observer| observer.worker(worker.pid));
            observers.extend(host::worker(&workload.name, worker.pid, &experiment.directory));
            members.push(Member {
                worker,
                folder: workload.settings.keeps_data().then_some(folder),
                part: part.clone(),
                facts: None,
                gone: None,
                ended: None,
                has_left: false,
                running: false,
                prepared,
                settings: Settings::new(),
                pending: false,
            });
        }
        let interval_ns = experiment.interval.nanoseconds();
        observers.extend(host::conductor(interval_ns, start));
        let mut scribe = Scribe::new(recording);
        for workload in experiment.workloads() {
            scribe.expect(&workload.name, operations(workload, &plan));
        }
        Ok(Self {
            setup,
            watch,
            live: Live::new(&plan),
            stop: experiment.times.stop,
            plan,
            environment,
            scribe,
            unrecorded: BTreeSet::new(),
            members,
            isolated,
            told,
            observers,
            interval_ns,
            next_beat_ns: next_multiple(start.monotonic_ns, interval_ns),
            account,
            spent: None,
            phase_end_ns: 0,
            after_phase_s: 0.0,
            failed: false,
        })
    }

    fn interrupted(&self) -> bool {
        self.setup.interrupted.load(Ordering::Relaxed)
    }

    fn finding(&mut self, finding: Finding) -> Result<(), RecordingError> {
        (self.watch)(Update::Finding(&finding));
        self.scribe.recording.event(MonotonicClock.now_ns(), Event::Finding(finding))
    }

    /// Waits until every worker is ready, one has failed, or somebody interrupts.
    fn prepare(&mut self) -> Result<(), RunError> {
        self.pump(u64::MAX, |run| {
            let failed = run.members.iter().any(|member| member.gone.is_some());
            failed || run.spent.is_some() || run.members.iter().all(|member| member.facts.is_some())
        })?;
        for finding in self.members.iter().filter_map(made_anew).collect::<Vec<_>>() {
            self.finding(finding)?;
        }
        self.tell_of_servers()?;
        let mut facts = Settings::new();
        for member in &self.members {
            facts.insert(member.part.name.clone(), serde_json::json!(member.facts));
        }
        self.environment["workloads"] = facts.into();
        self.write_environment()
    }

    /// Has the observers know which servers of others the workloads drive: what these move is no stranger's. Servers
    /// that workers started are ours anyway.
    fn tell_of_servers(&mut self) -> Result<(), RecordingError> {
        let address = |member: &Member| {
            let facts = member.facts.as_ref().filter(|facts| facts.get("own_server") != Some(&true.into()))?;
            Some((member.part.name.clone(), facts.get("address")?.as_str()?.to_owned()))
        };
        for (workload, address) in self.members.iter().filter_map(address).collect::<Vec<_>>() {
            for event in self.observers.iter_mut().flat_map(|observer| observer.serves(&workload, &address)) {
                self.scribe.recording.event(MonotonicClock.now_ns(), event)?;
            }
        }
        Ok(())
    }

    /// Writes the environment down, with what observers have learnt of the device by now.
    fn write_environment(&mut self) -> Result<(), RunError> {
        for (name, facts) in self.observers.iter().filter_map(|observer| observer.device_facts()) {
            self.environment["device"][name] = facts;
        }
        Ok(self.scribe.recording.environment(&self.environment)?)
    }

    /// Runs one phase; where that cannot be, or not to its end, leaves a gap that says why.
    fn phase(&mut self, phase: &Phase) -> Result<(), RunError> {
        match self.measure(phase)? {
            None => Ok(()),
            Some(reason) => {
                let event = Event::PhaseGap { phase: phase.id.clone(), reason };
                Ok(self.scribe.recording.event(MonotonicClock.now_ns(), event)?)
            }
        }
    }

    /// Measures one phase; returns why it could not be measured to its end.
    fn measure(&mut self, phase: &Phase) -> Result<Option<String>, RunError> {
        if let Some(reason) = self.obstacle(phase) {
            return Ok(Some(reason));
        }
        self.enter(phase)?;
        self.pump(MonotonicClock.now_ns() + SETTING_PATIENCE_NS, |run| {
            run.obstacle(phase).is_some() || run.members.iter().all(|member| !member.pending)
        })?;
        let late = self.members.iter().find(|member| member.pending).map(|member| member.part.name.clone());
        if let Some(name) = late.filter(|_| self.obstacle(phase).is_none()) {
            self.failed = true;
            return Ok(Some(format!("`{name}` did not put its settings into force within a minute")));
        }
        self.start_and_pause(phase);
        let begin_ns = next_multiple(MonotonicClock.now_ns() + seconds_ns(phase.settle_s), self.interval_ns);
        self.phase_end_ns = begin_ns + self.whole_intervals_ns(phase.duration_s);
        self.after_phase_s = self.time_after(phase);
        (self.watch)(Update::Phase {
            id: &phase.id,
            label: &phase.label,
            seconds: self.phase_end_ns.saturating_sub(MonotonicClock.now_ns()) as f64 / 1e9,
        });
        self.pump(begin_ns, |run| run.obstacle(phase).is_some())?;
        if let Some(reason) = self.obstacle(phase) {
            return Ok(Some(reason));
        }
        self.scribe.recording.event(begin_ns, Event::PhaseStarted { phase: phase.id.clone() })?;
        self.scribe.border(begin_ns, Border::Begin, &mut self.observers)?;
        self.live.begin(begin_ns);
        let end_ns = loop {
            // Samples end a moment after the beat: the phase lasts until the one of its last beat has ended too.
            let end_ns = self.phase_end_ns + (self.interval_ns / SAMPLE_LATENESS_DIVISOR).min(MAX_SAMPLE_LATENESS_NS);
            self.pump(end_ns, |run| run.obstacle(phase).is_some())?;
            if let Some(reason) = self.obstacle(phase) {
                return Ok(Some(reason));
            }
            if !self.prolong(phase, begin_ns)? {
                break end_ns;
            }
        };
        self.live.end(&self.plan, phase);
        self.scribe.border(end_ns, Border::End, &mut self.observers)?;
        self.scribe.recording.event(end_ns, Event::PhaseEnded { phase: phase.id.clone() })?;
        if let Err(error) = self.account.note() {
            self.halt(&error.into())?;
        }
        Ok(None)
    }

    /// Prolongs `phase`, which began to be measured at `begin_ns`, where its interval is still too wide and it may take
    /// longer; says whether it did.
    fn prolong(&mut self, phase: &Phase, begin_ns: u64) -> Result<bool, RunError> {
        let Some(stop) = self.stop.filter(|_| phase.kind != PhaseKind::Warmup) else { return Ok(false) };
        let (width, wanted) = self.live.width(&self.plan, phase, stop.interval.0);
        let measured_ns = self.phase_end_ns - begin_ns;
        let length_ns = self.whole_intervals_ns(phase.duration_s);
        let most_ns = seconds_ns(most_s(stop, phase.duration_s));
        match next(width, wanted, (measured_ns, length_ns, most_ns), self.interval_ns) {
            Next::Narrow => Ok(false),
            Next::Limit => {
                self.finding(too_wide(phase, width, wanted, measured_ns))?;
                Ok(false)
            }
            Next::Longer(by_ns) => {
                let event = Event::PhaseProlonged { phase: phase.id.clone(), by_s: by_ns as f64 / 1e9, width, wanted };
                self.scribe.recording.event(MonotonicClock.now_ns(), event)?;
                self.phase_end_ns += by_ns;
                let label = format!("{}, longer: its interval is still too wide", phase.label);
                (self.watch)(Update::Phase { id: &phase.id, label: &label, seconds: by_ns as f64 / 1e9 });
                Ok(true)
            }
        }
    }

    /// Why `phase` cannot run, or no longer.
    fn obstacle(&self, phase: &Phase) -> Option<String> {
        if self.interrupted() {
            return Some("the run was interrupted".to_owned());
        }
        if let Some(reason) = &self.spent {
            return Some(reason.clone());
        }
        let needed = self.members.iter().filter(|member| phase.running.contains(&member.part.name));
        needed.into_iter().find_map(|member| {
            let name = &member.part.name;
            match (&member.gone, &member.ended, &member.facts) {
                (Some(reason), _, _) => Some(format!("`{name}` failed: {reason}")),
                (None, Some(reason), _) => Some(format!("`{name}` has ended: {reason}")),
                (None, None, None) => Some(format!("`{name}` was not prepared")),
                (None, None, Some(_)) => None,
            }
        })
    }

    /// Puts the settings of `phase` that differ from those in force into force: tells every worker its own, and
    /// rewrites limits.
    fn enter(&mut self, phase: &Phase) -> Result<(), RunError> {
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            if !member.is_there() {
                continue;
            }
            let prefix = format!("{}.", member.part.name);
            let wanted = phase.settings.iter().filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?, value)));
            let changed: Settings = wanted
                .filter(|(name, value)| member.settings.get(*name) != Some(*value))
                .map(|(name, value)| (name.to_owned(), value.clone()))
                .collect();
            member.settings.extend(changed.clone());
            let (limits, own): (Settings, Settings) =
                changed.into_iter().partition(|(name, _)| Setting::of(name).is_some());
            if !own.is_empty() {
                member.worker.tell(&Control::Set(own));
                member.pending = true;
            }
            self.limit(index, limits)?;
        }
        Ok(())
    }

    /// Rewrites `limits` of a workload; one that the kernel refuses is the end of that workload.
    fn limit(&mut self, index: usize, limits: Settings) -> Result<(), RunError> {
        let mut changes = limits.iter().map(|(name, value)| self.isolated.change(index, name, value));
        let refused = changes.find_map(Result::err);
        match refused {
            Some(reason) => self.lost(index, Some(reason)),
            None if limits.is_empty() => Ok(()),
            None => {
                let workload = self.members[index].part.name.clone();
                let event = Event::Setting { workload, settings: limits };
                Ok(self.scribe.recording.event(MonotonicClock.now_ns(), event)?)
            }
        }
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

    fn start_and_pause(&mut self, phase: &Phase) {
        for member in self.members.iter_mut().filter(|member| member.is_there()) {
            let wanted = phase.running.contains(&member.part.name);
            if wanted != member.running {
                member.worker.tell(if wanted { &Control::Go } else { &Control::Wait });
                member.running = wanted;
            }
        }
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

    fn hear(&mut self, index: usize, message: Message) -> Result<(), RunError> {
        let member = &mut self.members[index];
        let name = member.part.name.as_str();
        match message {
            Message::Progress { what, done, total } => {
                (self.watch)(Update::Preparing { workload: name, what: &what, done, total });
            }
            Message::Ready { facts } => {
                let mut told = facts.clone();
                told.remove("state_units");
                let event = Event::Ready { workload: name.to_owned(), facts: told };
                self.scribe.recording.event(MonotonicClock.now_ns(), event)?;
                (self.watch)(Update::Ready { workload: name });
                member.facts = Some(facts);
            }
            Message::Sample(sample) => {
                self.live.hear(index, &sample);
                let unit = member.part.unit.as_str();
                let none = Settings::new();
                let rate = self.scribe.sample(name, unit, member.facts.as_ref().unwrap_or(&none), &sample)?;
                let fresh = rate.without_column.iter().map(|operation| format!("{name}.{operation}"));
                let fresh: Vec<String> = fresh.filter(|operation| self.unrecorded.insert(operation.clone())).collect();
                if member.running {
                    (self.watch)(Update::Rate { workload: name, rate: rate.per_second, unit, p99_us: rate.p99_us });
                }
                for operation in fresh {
                    self.finding(unrecorded(&operation))?;
                }
            }
            Message::Setting { t_ns, settings } => {
                member.pending = false;
                self.scribe.recording.event(t_ns, Event::Setting { workload: name.to_owned(), settings })?;
            }
            Message::Note { t_ns, text } => {
                self.scribe.recording.event(t_ns, Event::Note { workload: name.to_owned(), text })?;
            }
            Message::Replayed { t_ns, replayed } => {
                if !replayed.cut {
                    let text = format!("its trace came to its end, after {} requests", replayed.sent);
                    (self.watch)(Update::Ended { workload: name, text: &text });
                    member.ended = Some(text);
                }
                self.scribe.recording.event(t_ns, Event::Replayed { workload: name.to_owned(), replayed })?;
            }
            Message::Refused { line, reason } => {
                let text = format!("it refused `{line}`: {reason}");
                self.lost(index, Some(text))?;
            }
            Message::Error { text } => self.lost(index, Some(text))?,
            // Nothing more is to be had of it, and nothing is wrong.
            Message::Done if member.ended.is_some() => member.leave(),
            Message::Clock { .. } | Message::Done => {}
        }
        Ok(())
    }

    /// A worker is gone, or no longer does as it is told; `why` where it said so itself.
    fn lost(&mut self, index: usize, why: Option<String>) -> Result<(), RunError> {
        let member = &mut self.members[index];
        if member.gone.is_some() || member.has_left {
            return Ok(());
        }
        let text = why.unwrap_or_else(|| member.worker.ending());
        member.gone = Some(text.clone());
        member.pending = false;
        member.worker.end();
        self.failed = true;
        let workload = member.part.name.clone();
        (self.watch)(Update::Failed { workload: &workload, text: &text });
        Ok(self.scribe.recording.event(MonotonicClock.now_ns(), Event::Error { workload, text })?)
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

    fn whole_intervals_ns(&self, seconds: f64) -> u64 {
        (seconds_ns(seconds) / self.interval_ns).max(1) * self.interval_ns
    }

    fn time_after(&self, phase: &Phase) -> f64 {
        let after = self.plan.phases.iter().skip_while(|other| other.id != phase.id).skip(1);
        after.map(|phase| phase.settle_s + phase.duration_s).sum()
    }
}

/// The operations that `workload` does in any phase of `plan`.
fn operations(workload: &crate::file::Workload, plan: &Plan) -> Vec<String> {
    let prefix = format!("{}.", workload.name);
    let mut all: BTreeSet<&'static str> = workload.settings.operations().into_iter().collect();
    for phase in &plan.phases {
        let changed = phase.settings.iter().filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?, value)));
        let changed =
            changed.into_iter().try_fold(workload.clone(), |workload, (name, value)| workload.with(name, value));
        all.extend(changed.iter().flat_map(|workload| workload.settings.operations()));
    }
    all.into_iter().map(str::to_owned).collect()
}

/// That a worker did not find its data as they were prepared.
fn made_anew(member: &Member) -> Option<Finding> {
    let facts = member.facts.as_ref().filter(|_| member.prepared)?;
    let made_files = facts.get("made").and_then(serde_json::Value::as_array).is_some_and(|made| !made.is_empty());
    let loaded = facts.get("reused") == Some(&serde_json::Value::Bool(false));
    (made_files || loaded).then(|| Finding {
        id: "not-as-prepared".to_owned(),
        severity: Severity::Warning,
        phase: None,
        text: format!(
            "`{}` did not find its data as they were prepared and made them anew, without settling: run `manometer \
             prepare` again, then the experiment.",
            member.part.name
        ),
    })
}

fn unrecorded(operation: &str) -> Finding {
    Finding {
        id: "operation-without-column".to_owned(),
        severity: Severity::Warning,
        phase: None,
        text: format!(
            "`{operation}` appeared after its series had begun: its latencies are recorded, its counts are not."
        ),
    }
}

/// That a phase was measured for as long as it may be, and is still not narrow.
fn too_wide(phase: &Phase, width: Option<f64>, wanted: f64, measured_ns: u64) -> Finding {
    let got = width.map_or("it has none".to_owned(), |width| format!("it is {:.2} % wide", 100.0 * width));
    Finding {
        id: "interval-too-wide".to_owned(),
        severity: Severity::Warning,
        phase: Some(phase.id.clone()),
        text: format!(
            "After {:.1} s of {} its interval should be {:.2} % wide at most, and {got}. Raise `at_most` of `plan.stop`, \
             or let the device settle for longer.",
            measured_ns as f64 / 1e9,
            phase.id,
            100.0 * wanted,
        ),
    }
}

fn recording_on_device(setup: &Setup<'_>, experiment: &Experiment) -> Option<Finding> {
    same_device(&setup.out, &experiment.directory).then(|| Finding {
        id: "recording-on-device".to_owned(),
        severity: Severity::Warning,
        phase: None,
        text: "The recording lies on the measured device and adds a little to its load: choose another with --out."
            .to_owned(),
    })
}

fn isolation_lost(text: String) -> Finding {
    Finding { id: "isolation-lost".to_owned(), severity: Severity::Error, phase: None, text }
}

/// That nothing could be seen below the file system, by the `environment` of the run.
fn device_unseen(environment: &serde_json::Value, directory: &Path) -> Option<Finding> {
    let fs_type = environment["file_system"]["type"].as_str().unwrap_or("a file system that is not told");
    environment["device"].is_null().then(|| Finding {
        id: "device-unseen".to_owned(),
        severity: Severity::Warning,
        phase: None,
        text: format!(
            "No block device shows under {} ({fs_type}): neither the device nor its state was observed, no limit of \
             I/O holds for it, and what was written is what the workloads' processes say. Choose a folder on a local \
             disk; `manometer doctor DIR` says what lies under a folder.",
            directory.display()
        ),
    })
}

/// That engines wrote more when they closed than was left.
fn budget_passed(beyond: ByteSize) -> Finding {
    Finding {
        id: "write-budget-passed".to_owned(),
        severity: Severity::Error,
        phase: None,
        text: format!(
            "What was still to be written when the workloads ended passed `device.write_budget` by {:.1} MiB: leave more \
             of it to a run whose engine keeps much in memory.",
            beyond.mib()
        ),
    }
}

fn bounds_direct_writes_only() -> Finding {
    Finding {
        id: "bounds-direct-writes-only".to_owned(),
        severity: Severity::Info,
        phase: None,
        text:
            "Control groups of version 1 bound direct writes only: what is written through the page cache goes to the \
               device unbounded, later."
                .to_owned(),
    }
}

fn database_in_memory(experiment: &Experiment) -> Option<Finding> {
    let bytes = experiment.primary.as_ref()?.settings.bytes_to_prepare();
    let memory_bytes = environment::memory_bytes()?;
    (0 < bytes && bytes < memory_bytes).then(|| Finding {
        id: "fits-in-memory".to_owned(),
        severity: Severity::Info,
        phase: None,
        text: format!(
            "The primary's data ({:.0} MiB) is smaller than this host's memory ({:.0} MiB): unless it is read past the \
             page cache, most reads never reach the device, and what is lost is processor time.",
            ByteSize(bytes).mib(),
            ByteSize(memory_bytes).mib(),
        ),
    })
}

fn seconds_ns(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

/// A seed of its own for each worker, from the run's.
pub(crate) fn seed_of(seed: u64, index: usize) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(index as u64 + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_directory_without_a_device_is_told_with_its_file_system() {
        let dir = Path::new("/home/me/secret");
        let unseen = json!({"device": null, "file_system": {"type": "fuse.gocryptfs"}});
        let finding = device_unseen(&unseen, dir).unwrap();
        assert_eq!((finding.id.as_str(), finding.severity), ("device-unseen", Severity::Warning));
        assert!(finding.text.contains("/home/me/secret (fuse.gocryptfs)"), "{}", finding.text);
        assert!(device_unseen(&json!({}), dir).unwrap().text.contains("not told"));
        assert_eq!(device_unseen(&json!({"device": {"name": "sda"}}), dir), None);
    }
}
