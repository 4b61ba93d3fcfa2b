//! The closed loop: keeps requests in flight, samples on the beat, and obeys.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::PathBuf;

use manometer_measure::Clock;
use manometer_measure::clock::next_multiple;
use manometer_measure::plan::Settings;
use manometer_target::file::{Backend, FileError, IoEngine, WriteData};

use super::bucket::TokenBucket;
use super::change::{apply, in_force};
use super::flight::Flight;
use super::pattern::{Next, Pattern};
use super::recorded::{Recorded, Turn};
use super::tally::Tally;
use super::{IoError, IoSettings, parse_script};
use crate::control::{Controls, Sink};
use crate::protocol::{Control, Message};
use crate::script::ScriptStep;
use crate::settings::SettingError;

/// How often control lines are looked for.
const LOOK_NS: u64 = 10_000_000;

/// How many control lines may wait for a change that waits for the flight to land.
const MAX_HEARD: usize = 64;

/// How long requests in flight are waited for at the end, so that nothing writes after it.
const LAST_WAIT_NS: u64 = 1_000_000_000;

/// Sets a backend up for settings.
pub(super) type Open<'a> = dyn FnMut(&IoSettings) -> Result<Box<dyn Backend>, FileError> + 'a;

/// What a run needs from outside.
pub(super) struct Surroundings<'a> {
    pub(super) clock: &'a dyn Clock,
    pub(super) controls: &'a Controls,
    pub(super) sink: &'a mut dyn Sink,
    pub(super) open: &'a mut Open<'a>,
}

/// What stays the same during a run.
pub(super) struct Constants {
    pub(super) paths: Vec<PathBuf>,
    pub(super) engine: IoEngine,
    pub(super) fs_block_bytes: u64,
    pub(super) interval_ns: u64,
    /// Whether the files may be written at all.
    pub(super) may_write: bool,
}

/// Where requests come from.
pub(super) enum Source<'a> {
    /// The settings.
    Pattern(Pattern),
    /// A trace.
    Recorded(Box<Recorded<'a>>),
}

/// A change that waits for the flight to land.
struct Change {
    line: String,
    changes: Settings,
    settings: IoSettings,
    /// The new timetable, when it changes too.
    script: Option<Vec<ScriptStep>>,
}

pub(super) struct Runner<'a, 't> {
    outside: Surroundings<'a>,
    constants: Constants,
    settings: IoSettings,
    flight: Flight,
    source: Source<'t>,
    data: WriteData,
    bucket: Option<TokenBucket>,
    tally: Tally,
    going: bool,
    began_ns: Option<u64>,
    script: VecDeque<ScriptStep>,
    change: Option<Change>,
    heard: VecDeque<Control>,
    /// Finished writes of each file since its last `fdatasync`, and the files for which one is due.
    unsynced: Vec<u64>,
    sync_due: VecDeque<u32>,
    next_sample_ns: u64,
    next_look_ns: u64,
}

impl<'a, 't> Runner<'a, 't> {
    /// Begins to sample at once, and to send requests at the first `go`; `heard` holds control lines that
    /// came before.
    pub(super) fn new(
        outside: Surroundings<'a>,
        constants: Constants,
        settings: IoSettings,
        backend: Box<dyn Backend>,
        (source, data): (Source<'t>, WriteData),
        heard: VecDeque<Control>,
    ) -> Result<Self, IoError> {
        let now_ns = outside.clock.now_ns();
        let script = match &settings.script {
            Some(text) => parse_script(text, &settings, constants.fs_block_bytes)?.into(),
            None => VecDeque::new(),
        };
        Ok(Self {
            flight: flight(backend, constants.engine, &settings),
            bucket: settings.rate.map(|rate| TokenBucket::new(rate, now_ns)),
            tally: Tally::new(now_ns),
            unsynced: vec![0; constants.paths.len()],
            next_sample_ns: next_multiple(now_ns, constants.interval_ns),
            next_look_ns: now_ns,
            outside,
            constants,
            settings,
            source,
            data,
            going: false,
            began_ns: None,
            script,
            change: None,
            heard,
            sync_due: VecDeque::new(),
        })
    }

    /// Runs until it is told to stop, or fails.
    pub(super) fn run(mut self) -> Result<(), IoError> {
        let mut now_ns = self.outside.clock.now_ns();
        loop {
            if now_ns >= self.next_look_ns {
                if self.look(now_ns)?.is_break() {
                    return self.end();
                }
                now_ns = self.outside.clock.now_ns();
            }
            let deadline_ns = self.fill(now_ns);
            now_ns = self.wait(now_ns, deadline_ns)?;
            if self.change.is_some() && self.flight.is_empty() {
                self.make_change()?;
            }
            if self.flight.is_empty() && matches!(&self.source, Source::Recorded(trace) if trace.is_over()) {
                return self.end();
            }
        }
    }

    /// Sends as many requests as may be in flight, and returns until when there is nothing else to do.
    fn fill(&mut self, mut now_ns: u64) -> u64 {
        if !self.going || self.change.is_some() {
            return self.next_look_ns;
        }
        while self.flight.has_room() {
            if let Some(file) = self.sync_due.pop_front() {
                self.flight.send_sync(file, now_ns);
                continue;
            }
            let (next, due_ns) = match self.next(now_ns) {
                Ok(next) => next,
                Err(ready_ns) => return ready_ns.min(self.next_look_ns),
            };
            self.flight.send(next, due_ns, now_ns, &mut self.data);
            if due_ns.is_some() {
                now_ns = self.outside.clock.now_ns();
            }
        }
        self.next_look_ns
    }

    /// The request whose turn it is at `now_ns` and when it was due, where something says so.
    ///
    /// # Errors
    /// There is none yet: the moment before which there is not.
    fn next(&mut self, now_ns: u64) -> Result<(Next, Option<u64>), u64> {
        match &mut self.source {
            Source::Pattern(pattern) => {
                let bytes = self.settings.block_size.0;
                self.bucket.as_mut().map_or(Ok(()), |bucket| bucket.take(now_ns, bytes))?;
                Ok((pattern.next(), None))
            }
            Source::Recorded(trace) => match trace.turn(now_ns) {
                Turn::Send(next, due_ns) => Ok((next, due_ns)),
                Turn::Wait(due_ns) => Err(due_ns),
                Turn::Over => Err(u64::MAX),
            },
        }
    }

    /// Waits for the flight, or for time alone when nothing is in flight; returns what time it is then.
    fn wait(&mut self, now_ns: u64, deadline_ns: u64) -> Result<u64, IoError> {
        let margin_ns = if let Source::Recorded(trace) = &self.source { trace.margin_ns } else { 0 };
        let is_soon = deadline_ns.saturating_sub(now_ns) <= margin_ns;
        if self.flight.is_empty() {
            let clock = self.outside.clock;
            if is_soon {
                return Ok(clock.spin_until(deadline_ns));
            }
            clock.sleep_until(deadline_ns - margin_ns);
            return Ok(clock.now_ns());
        }
        // What finishes shortly before a request is due is looked for without sleeping.
        self.flight.wait(now_ns, if is_soon { now_ns } else { deadline_ns - margin_ns })?;
        let now_ns = self.outside.clock.now_ns();
        // What has finished by now belongs to the interval that is now.
        self.send_samples(now_ns)?;
        let (every, unsynced, due) = (self.settings.fdatasync_every, &mut self.unsynced, &mut self.sync_due);
        let mut wrote = |file: u32| {
            unsynced[file as usize] += 1;
            if every > 0 && unsynced[file as usize] >= every {
                unsynced[file as usize] = 0;
                due.push_back(file);
            }
        };
        self.flight.settle(now_ns, &self.constants.paths, &mut self.tally, &mut wrote)?;
        Ok(now_ns)
    }

    /// Does what is not done for every request: samples, control lines, the timetable.
    fn look(&mut self, now_ns: u64) -> Result<ControlFlow<()>, IoError> {
        self.send_samples(now_ns)?;
        while self.heard.len() < MAX_HEARD {
            match self.outside.controls.poll() {
                Some(Control::Stop) => return Ok(ControlFlow::Break(())),
                Some(control) => self.heard.push_back(control),
                None => break,
            }
        }
        while self.change.is_none() {
            let Some(control) = self.heard.pop_front().or_else(|| self.due_step(now_ns)) else { break };
            self.obey(control, now_ns)?;
        }
        let step_ns = self.step_ns().filter(|step_ns| *step_ns > now_ns).unwrap_or(u64::MAX);
        self.next_look_ns = (now_ns + LOOK_NS).min(self.next_sample_ns).min(step_ns);
        Ok(ControlFlow::Continue(()))
    }

    /// When the timetable's next step is due.
    fn step_ns(&self) -> Option<u64> {
        Some(self.began_ns?.saturating_add(self.script.front()?.at_ns))
    }

    fn due_step(&mut self, now_ns: u64) -> Option<Control> {
        let due = self.step_ns().is_some_and(|step_ns| step_ns <= now_ns);
        due.then(|| self.script.pop_front()).flatten().map(|step| Control::Set(step.settings))
    }

    fn obey(&mut self, control: Control, now_ns: u64) -> Result<(), IoError> {
        let line = control.to_string();
        match control {
            Control::Go => {
                self.going = true;
                self.began_ns.get_or_insert(now_ns);
                if let Source::Recorded(trace) = &mut self.source {
                    trace.go(now_ns);
                }
            }
            Control::Wait => {
                self.going = false;
                if let Source::Recorded(trace) = &mut self.source {
                    trace.pause(now_ns);
                }
            }
            Control::Set(changes) => match self.resolve(&changes) {
                Ok((settings, script)) => {
                    let change = Change { line, changes, settings, script };
                    if self.must_land(&change.settings) {
                        self.change = Some(change);
                    } else {
                        self.put_in_force(change)?;
                    }
                }
                Err(reason) => self.refuse(line, reason.to_string())?,
            },
            // A stop is obeyed before it gets here.
            Control::Stop => {}
        }
        Ok(())
    }

    /// What `changes` would lead to, and the timetable that would then be in force when it is a new one.
    fn resolve(&self, changes: &Settings) -> Result<(IoSettings, Option<Vec<ScriptStep>>), IoError> {
        let block_bytes = self.constants.fs_block_bytes;
        let settings = apply(&self.settings, changes, block_bytes)?;
        may_write(&settings, self.constants.may_write)?;
        let script = match &settings.script {
            Some(text) if changes.contains_key("script") => Some(parse_script(text, &settings, block_bytes)?),
            None if changes.contains_key("script") => Some(Vec::new()),
            _ => None,
        };
        Ok((settings, script))
    }

    /// Whether nothing may be in flight while `settings` come into force.
    fn must_land(&self, settings: &IoSettings) -> bool {
        let shape = |settings: &IoSettings| (settings.block_size, settings.iodepth, settings.direct, settings.dsync);
        shape(settings) != shape(&self.settings)
    }

    /// Sets the backend up anew; the old one stays when that fails.
    fn make_change(&mut self) -> Result<(), IoError> {
        let Some(change) = self.change.take() else { return Ok(()) };
        // Control lines that were put off are looked at next.
        self.next_look_ns = 0;
        match (self.outside.open)(&change.settings) {
            Ok(backend) => {
                self.flight = flight(backend, self.constants.engine, &change.settings);
                self.put_in_force(change)
            }
            Err(error) => self.refuse(change.line, error.to_string()),
        }
    }

    fn put_in_force(&mut self, change: Change) -> Result<(), IoError> {
        let now_ns = self.outside.clock.now_ns();
        match &mut self.source {
            Source::Pattern(pattern) => pattern.change(&change.settings),
            Source::Recorded(trace) => trace.change(change.settings.recorded.factor.unwrap_or(1.0), now_ns),
        }
        if change.settings.rate != self.settings.rate {
            self.bucket = change.settings.rate.map(|rate| TokenBucket::new(rate, now_ns));
        }
        if let Some(script) = change.script {
            let passed_ns = self.began_ns.map_or(0, |began_ns| now_ns - began_ns);
            self.script = script.into_iter().filter(|step| step.at_ns >= passed_ns).collect();
        }
        self.settings = change.settings;
        let settings = in_force(&self.settings, &change.changes);
        self.tell(Message::Setting { t_ns: now_ns, settings })
    }

    fn refuse(&mut self, line: String, reason: String) -> Result<(), IoError> {
        self.tell(Message::Refused { line, reason })
    }

    /// Sends every sample whose interval has ended.
    fn send_samples(&mut self, now_ns: u64) -> Result<(), IoError> {
        while self.next_sample_ns <= now_ns {
            let sample = self.tally.sample(self.next_sample_ns);
            self.next_sample_ns += self.constants.interval_ns;
            sample.map_or(Ok(()), |sample| self.tell(Message::Sample(sample)))?;
        }
        Ok(())
    }

    /// Sends the rest as a shorter last sample and lets what is in flight land.
    fn end(mut self) -> Result<(), IoError> {
        let mut now_ns = self.outside.clock.now_ns();
        if let Some(sample) = self.tally.sample(now_ns) {
            self.tell(Message::Sample(sample))?;
        }
        let deadline_ns = now_ns + LAST_WAIT_NS;
        while !self.flight.is_empty() && now_ns < deadline_ns {
            self.flight.wait(now_ns, deadline_ns)?;
            now_ns = self.outside.clock.now_ns();
            self.flight.settle(now_ns, &self.constants.paths, &mut self.tally, &mut |_| {})?;
        }
        let Source::Recorded(trace) = self.source else { return Ok(()) };
        let replayed = Message::Replayed { t_ns: now_ns, replayed: Box::new(trace.replayed(now_ns)) };
        self.outside.sink.send(replayed).map_err(IoError::Unheard)
    }

    fn tell(&mut self, message: Message) -> Result<(), IoError> {
        self.outside.sink.send(message).map_err(IoError::Unheard)
    }
}

/// Refuses settings that write into files which may only be read.
pub(super) fn may_write(settings: &IoSettings, may_write: bool) -> Result<(), SettingError> {
    if may_write || settings.write_ratio == 0.0 {
        return Ok(());
    }
    let wanted = "the file is not ours and may only be read: write 0, name a new file, or allow overwriting";
    Err(SettingError::new("write_ratio", settings.write_ratio, wanted))
}

fn flight(backend: Box<dyn Backend>, engine: IoEngine, settings: &IoSettings) -> Flight {
    Flight::new(backend, engine, settings.iodepth)
}
