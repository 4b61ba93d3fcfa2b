//! The worker loop: sample ticks, timetable, control lines.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use manometer_measure::Clock;
use manometer_measure::clock::next_tick_ns;
use manometer_measure::plan::Settings;
use manometer_workload::command;
use manometer_workload::error::WorkloadError;
use manometer_workload::files;
use manometer_workload::interface::{
    ChangeOutcome, DrainMode, Driver, PreparedWorkload, SamplingMode, Workload, WorkloadContext, WorkloadData,
    WorkloadEvent,
};
use manometer_workload::io::{self as block_io, IoJob};
use manometer_workload::kv;
use manometer_workload::paths;
use manometer_workload::replay;
use manometer_workload::sample::{Sample, SampleCounts};
use manometer_workload::script::ScriptStep;
use manometer_workload::settings::WorkloadSettings;

use crate::control::{Controls, MessageSink};
use crate::error::SessionError;
use crate::protocol::{Control, DatabaseReuse, Job, Message};
use crate::state_reader::StateReader;

/// The longest time between two polls of the control lines, in nanoseconds.
const POLL_NS: u64 = 10_000_000;

/// How long to wait for requests in flight at a pause, at the end, and before most changes, in nanoseconds. A request
/// delayed by the device or the engine counts when it completes.
const DRAIN_NS: u64 = 1_000_000_000;

/// How often to poll whether requests have drained, in nanoseconds.
const DRAIN_POLL_NS: u64 = 1_000_000;

/// The most control lines that wait while requests drain.
const QUEUED_CONTROLS_MAX: usize = 64;

/// The number of progress reports of a preparation.
const PROGRESS_STEPS: u64 = 100;

/// The session of one workload: its control lines and its messages.
pub struct WorkerSession<'a> {
    controls: &'a Controls,
    sink: &'a mut dyn MessageSink,
    clock: &'a dyn Clock,
    interval_ns: u64,
    /// Control lines that arrived too early, or while requests drained.
    queued: VecDeque<Control>,
    /// The activity and step of the last progress message.
    progress: Option<(String, u64)>,
    disconnected: Option<std::io::Error>,
}

/// Runs `job` to its end, or until it is stopped, with its `controls` and messages to `sink`. The caller sends
/// [`Message::Done`] or [`Message::Error`]. Where the job says so, the data is removed at the end.
///
/// # Errors
/// The job makes no sense here, or its workload failed.
pub fn run<C: Clock>(
    job: &Job,
    controls: &Controls,
    sink: &mut dyn MessageSink,
    clock: &C,
) -> Result<WorkloadData, SessionError> {
    let interval_ns = job.interval_ms.saturating_mul(1_000_000);
    let data = with_session(interval_ns, controls, sink, clock, |session| dispatch(job, session, clock))?;
    if job.removes || job.waits {
        controls.wait_for_stop();
    }
    if !job.removes {
        return Ok(data);
    }
    data.remove().map_err(WorkloadError::Remove)?;
    Ok(WorkloadData::default())
}

/// Calls `work` with a new session.
///
/// # Errors
/// The workload failed, or the receiver of messages is gone.
pub fn with_session<T>(
    interval_ns: u64,
    controls: &Controls,
    sink: &mut dyn MessageSink,
    clock: &dyn Clock,
    work: impl FnOnce(&mut WorkerSession<'_>) -> Result<T, WorkloadError>,
) -> Result<T, SessionError> {
    if interval_ns == 0 {
        return Err(SessionError::NoInterval);
    }
    let queued = VecDeque::new();
    let mut session = WorkerSession { controls, sink, clock, interval_ns, queued, progress: None, disconnected: None };
    let done = work(&mut session)?;
    session.disconnected.map_or(Ok(done), |error| Err(SessionError::Disconnected(error)))
}

fn dispatch<C: Clock>(job: &Job, session: &mut WorkerSession<'_>, clock: &C) -> Result<WorkloadData, WorkloadError> {
    let Job { name, directory, existing, seed, share, .. } = job.clone();
    let place = WorkloadContext { name, directory, existing, seed, share };
    match &job.workload {
        WorkloadSettings::Io(io) => {
            let reuse = job.existing != DatabaseReuse::Remake;
            let io = IoJob::in_directory(&job.directory, &job.name, reuse, io.clone(), job.seed);
            block_io::run(&io, session, clock).map(|()| WorkloadData::default())
        }
        WorkloadSettings::Files(files) => files::run(&place, files, session, clock),
        WorkloadSettings::Paths(paths) => paths::run(&place, paths, session, clock),
        WorkloadSettings::Kv(kv) => kv::run(&place, kv, session, clock),
        WorkloadSettings::Replay(replay) => replay::run(&place, replay, session, clock),
        WorkloadSettings::Command(command) => {
            command::run(&place, command, job.interval_ms, session).map(|()| WorkloadData::default())
        }
    }
}

impl WorkerSession<'_> {
    fn send(&mut self, message: Message) {
        if self.disconnected.is_none() {
            self.disconnected = self.sink.send(message).err();
        }
    }
}

impl Driver for WorkerSession<'_> {
    fn progress(&mut self, activity: &str, done: u64, total: u64) -> ControlFlow<()> {
        let step = done.saturating_mul(PROGRESS_STEPS) / total.max(1);
        if !self.progress.as_ref().is_some_and(|(before, at)| before == activity && *at == step) {
            self.progress = Some((activity.to_owned(), step));
            self.send(Message::Progress { what: activity.to_owned(), done, total });
        }
        while let Some(control) = self.controls.poll() {
            if control == Control::Stop {
                return ControlFlow::Break(());
            }
            self.queued.push_back(control);
        }
        if self.disconnected.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn drive(&mut self, ready: PreparedWorkload<'_>, workload: &mut dyn Workload) -> Result<(), WorkloadError> {
        let PreparedWorkload { facts, state, script } = ready;
        self.send(Message::Ready { facts });
        let (clock, interval_ns) = (self.clock, self.interval_ns);
        std::thread::scope(|scope| {
            let reader = state.map(|state| StateReader::new(scope, state, clock, interval_ns));
            WorkerLoop {
                session: self,
                workload,
                reader,
                script: script.into(),
                began_ns: None,
                go_ns: None,
                going: false,
                sampled_ns: clock.now_ns(),
            }
            .run()
        })
    }

    fn emit(&mut self, event: WorkloadEvent) {
        self.send(match event {
            WorkloadEvent::Sample(sample) => Message::Sample(sample),
            WorkloadEvent::Note { t_ns, text } => Message::Note { t_ns, text },
            WorkloadEvent::Replayed { t_ns, replayed } => Message::Replayed { t_ns, replayed },
        });
    }
}

/// The loop of one prepared workload.
struct WorkerLoop<'a, 's> {
    session: &'a mut WorkerSession<'s>,
    workload: &'a mut dyn Workload,
    reader: Option<StateReader>,
    script: VecDeque<ScriptStep>,
    /// The first `go`.
    began_ns: Option<u64>,
    /// When it is to go, where that lies ahead.
    go_ns: Option<u64>,
    going: bool,
    /// The end of the last sample.
    sampled_ns: u64,
}

impl WorkerLoop<'_, '_> {
    /// Runs until stopped, until the workload ends, or until the receiver of messages is gone.
    fn run(&mut self) -> Result<(), WorkloadError> {
        loop {
            self.forward_events();
            if self.session.disconnected.is_some() || self.workload.is_over()? {
                return self.end();
            }
            self.sample_on_tick();
            match self.next_control() {
                Some(Control::Go) => self.go()?,
                Some(Control::GoAt(go_ns)) => {
                    // Before that moment, since reading the state takes its time.
                    self.read_state();
                    self.go_ns = Some(go_ns);
                }
                Some(Control::Wait) => self.pause()?,
                Some(Control::Stop) => return self.end(),
                Some(Control::Set(changes)) => self.change(changes)?,
                None => self.workload.work_until(self.wake_ns(), self.session.clock)?,
            }
        }
    }

    /// The next control line, or the next due step of the timetable.
    fn next_control(&mut self) -> Option<Control> {
        let queued = self.session.queued.pop_front().or_else(|| self.session.controls.poll());
        queued.or_else(|| self.due_go()).or_else(|| self.due_step())
    }

    fn due_go(&mut self) -> Option<Control> {
        self.go_ns.filter(|go_ns| *go_ns <= self.now_ns()).map(|_| Control::Go)
    }

    /// Begins to read the engine's state, from which the next sample's is counted.
    fn read_state(&mut self) {
        if let Some(reader) = &mut self.reader {
            reader.start();
        }
    }

    fn due_step(&mut self) -> Option<Control> {
        let is_due = self.step_ns().is_some_and(|step_ns| step_ns <= self.now_ns());
        is_due.then(|| self.script.pop_front()).flatten().map(|step| Control::Set(step.settings))
    }

    /// When the timetable's next step is due.
    fn step_ns(&self) -> Option<u64> {
        Some(self.began_ns?.saturating_add(self.script.front()?.at_ns))
    }

    /// When the loop has something to do again.
    fn wake_ns(&self) -> u64 {
        let now_ns = self.now_ns();
        let step_ns = self.step_ns().filter(|step_ns| *step_ns > now_ns).unwrap_or(u64::MAX);
        let tick_ns = if self.is_sampling() { self.tick_ns() } else { u64::MAX };
        (now_ns + POLL_NS).min(step_ns).min(tick_ns).min(self.go_ns.unwrap_or(u64::MAX))
    }

    fn go(&mut self) -> Result<(), WorkloadError> {
        let is_announced = self.go_ns.take().is_some();
        if self.going {
            return Ok(());
        }
        // Requests are due from `go` on, so the state must have been read before.
        if !is_announced {
            self.read_state();
        }
        let now_ns = self.now_ns();
        self.began_ns.get_or_insert(now_ns);
        if self.workload.sampling() == SamplingMode::Running {
            self.sampled_ns = now_ns;
        }
        self.workload.go(now_ns)?;
        self.going = true;
        Ok(())
    }

    fn pause(&mut self) -> Result<(), WorkloadError> {
        self.go_ns = None;
        if !self.going {
            return Ok(());
        }
        self.workload.pause(self.now_ns())?;
        if self.workload.sampling() == SamplingMode::Running {
            self.drain(self.now_ns() + DRAIN_NS)?;
            self.sample(self.now_ns());
        }
        self.going = false;
        Ok(())
    }

    /// Ends with a shorter last sample, after requests in flight have drained.
    fn end(&mut self) -> Result<(), WorkloadError> {
        self.pause()?;
        if self.workload.sampling() == SamplingMode::Always {
            self.drain(self.now_ns() + DRAIN_NS)?;
            self.sample(self.now_ns());
        }
        self.forward_events();
        Ok(())
    }

    /// Works until no request is in flight, or until `deadline_ns`. Returns false if a stop came first.
    fn drain(&mut self, deadline_ns: u64) -> Result<bool, WorkloadError> {
        while !self.workload.is_drained() && self.now_ns() < deadline_ns {
            self.sample_on_tick();
            // A short drain ends by itself; a stop must not wait for a device that hangs.
            let is_stopped = deadline_ns == u64::MAX && !self.queue_controls();
            if is_stopped || self.session.disconnected.is_some() {
                return Ok(false);
            }
            let wake_ns = self.wake_ns().min(self.now_ns() + DRAIN_POLL_NS).min(deadline_ns);
            self.workload.work_until(wake_ns, self.session.clock)?;
        }
        Ok(true)
    }

    /// Queues control lines. Returns false once one of them is a stop, which precedes the others.
    fn queue_controls(&mut self) -> bool {
        let queued = &mut self.session.queued;
        while queued.len() < QUEUED_CONTROLS_MAX
            && let Some(control) = self.session.controls.poll()
        {
            if control == Control::Stop {
                queued.push_front(control);
            } else {
                queued.push_back(control);
            }
        }
        queued.front() != Some(&Control::Stop)
    }

    /// Applies `changes`, or refuses them.
    fn change(&mut self, changes: Settings) -> Result<(), WorkloadError> {
        let drained = match self.workload.check_change(&changes) {
            Err(reason) => {
                self.refuse(changes, reason);
                return Ok(());
            }
            Ok(DrainMode::None) => true,
            Ok(DrainMode::Briefly) => self.drain(self.now_ns() + DRAIN_NS)?,
            Ok(DrainMode::Fully) => self.drain(u64::MAX)?,
        };
        if !drained {
            return Ok(());
        }
        let now_ns = self.now_ns();
        match self.workload.apply_change(now_ns)? {
            ChangeOutcome::Refused(reason) => self.refuse(changes, reason),
            ChangeOutcome::Applied { settings, counts, script } => {
                if let Some(script) = script {
                    let passed_ns = self.began_ns.map_or(0, |began_ns| now_ns - began_ns);
                    self.script = script.into_iter().filter(|step| step.at_ns >= passed_ns).collect();
                }
                if let Some(counts) = counts {
                    self.send_sample(counts, now_ns);
                }
                self.forward_events();
                self.session.send(Message::Setting { t_ns: now_ns, settings });
            }
        }
        Ok(())
    }

    fn refuse(&mut self, changes: Settings, reason: String) {
        self.session.send(Message::Refused { line: Control::Set(changes).to_string(), reason });
    }

    fn is_sampling(&self) -> bool {
        match self.workload.sampling() {
            SamplingMode::Always => true,
            SamplingMode::Running => self.going,
            SamplingMode::Own => false,
        }
    }

    /// When the next sample is due: at the next multiple of the interval.
    fn tick_ns(&self) -> u64 {
        next_tick_ns(self.sampled_ns, self.session.interval_ns)
    }

    fn sample_on_tick(&mut self) {
        let now_ns = self.now_ns();
        if self.is_sampling() && now_ns >= self.tick_ns() {
            self.sample(now_ns);
        }
    }

    fn sample(&mut self, now_ns: u64) {
        if now_ns > self.sampled_ns
            && let Some(counts) = self.workload.take_counts(now_ns)
        {
            self.send_sample(counts, now_ns);
        }
    }

    fn send_sample(&mut self, counts: SampleCounts, t_ns: u64) {
        let SampleCounts { operations, dropped, state } = counts;
        let length_ns = t_ns.saturating_sub(self.sampled_ns);
        self.sampled_ns = t_ns;
        let mut sample = Sample { t_ns, length_ns, operations, dropped, state, state_t_ns: None };
        if let Some(reader) = &mut self.reader {
            reader.add_to(&mut sample);
        }
        self.session.send(Message::Sample(sample));
    }

    fn forward_events(&mut self) {
        self.workload.take_events().into_iter().for_each(|event| self.session.emit(event));
    }

    fn now_ns(&self) -> u64 {
        self.session.clock.now_ns()
    }
}
