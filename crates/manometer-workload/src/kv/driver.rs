//! Whoever drives the threads: heeds control lines and the timetable, changes settings, takes samples.

use std::collections::VecDeque;

use manometer_measure::Clock;
use manometer_measure::plan::Settings;
use manometer_target::engine::{Engine, EngineError};

use super::change::{apply, in_force, read_script};
use super::course::Crew;
use super::error::KvError;
use super::load::Watch;
use super::sampler::Sampler;
use super::settings::KvSettings;
use super::state_reader::StateReader;
use crate::control::Sink;
use crate::protocol::{Control, Message, Sample};
use crate::script::ScriptStep;

/// How long requests under way are waited for when the gate closes, and how often they are looked for.
const LANDING_NS: u64 = 1_000_000_000;
const LANDING_LOOK_NS: u64 = 1_000_000;

/// Heeds control lines and takes samples while the threads are at work.
pub(super) struct Driver<'a, C> {
    clock: &'a C,
    engine: &'a dyn Engine,
    crew: &'a Crew<'a>,
    sampler: Sampler<'a>,
    reader: StateReader,
    settings: KvSettings,
    seed: u64,
    script: VecDeque<ScriptStep>,
    /// When the first `go` came.
    began_ns: Option<u64>,
    going: bool,
    dropped: u64,
    /// Writes down that the data are no longer what was loaded; called before the first request that changes
    /// which records there are, or how long.
    mark_changed: &'a mut dyn FnMut() -> Result<(), EngineError>,
}

impl<'a, C: Clock> Driver<'a, C> {
    pub(super) fn new(
        clock: &'a C,
        engine: &'a dyn Engine,
        crew: &'a Crew<'a>,
        settings: &KvSettings,
        (seed, interval_ms): (u64, u64),
        reader: StateReader,
        mark_changed: &'a mut dyn FnMut() -> Result<(), EngineError>,
    ) -> Result<Self, KvError> {
        let operations = crew.plans.latest().work.operations();
        Ok(Self {
            sampler: Sampler::new(&operations, crew.counted, interval_ms),
            reader,
            script: read_script(settings)?.into(),
            settings: settings.clone(),
            clock,
            engine,
            crew,
            seed,
            began_ns: None,
            going: false,
            dropped: 0,
            mark_changed,
        })
    }

    /// Drives until told to stop, until everything has been asked, or until a thread fails.
    pub(super) fn drive(&mut self, mut watch: Watch) -> Result<(), KvError> {
        while !self.crew.has_failed() {
            self.engine.check()?;
            if self.crew.at_work() == 0 {
                return self.halt(watch.sink);
            }
            match watch.early.pop_front().or_else(|| watch.controls.poll()).or_else(|| self.due_step()) {
                Some(Control::Go) => self.go(),
                Some(Control::Wait) => self.halt(watch.sink)?,
                Some(Control::Stop) => return self.halt(watch.sink),
                Some(Control::Set(changes)) => self.change(changes, watch.sink)?,
                None => self.wait_and_sample(watch.sink)?,
            }
        }
        Ok(())
    }

    fn go(&mut self) {
        if !self.going {
            // Requests come due from here on: by then the state has been read.
            self.reader.start();
            let now_ns = self.clock.now_ns();
            self.began_ns.get_or_insert(now_ns);
            self.crew.arrivals.resume(now_ns);
            self.sampler.begin(now_ns);
            self.crew.gate.open();
            self.going = true;
        }
    }

    /// Holds the threads and tells what they did since the last beat.
    fn halt(&mut self, sink: &mut dyn Sink) -> Result<(), KvError> {
        if self.going {
            self.crew.gate.close();
            self.crew.arrivals.pause(self.clock.now_ns());
            self.land(sink)?;
            self.going = false;
            self.sample(sink)?;
        }
        Ok(())
    }

    /// Waits for the requests under way, so that they count in the interval that they belong to, but not
    /// for ever: one that the engine holds up counts when it comes.
    fn land(&mut self, sink: &mut dyn Sink) -> Result<(), KvError> {
        let deadline_ns = self.clock.now_ns() + LANDING_NS;
        while !self.crew.has_landed() && !self.crew.has_failed() {
            let now_ns = self.clock.now_ns();
            if now_ns >= deadline_ns {
                break;
            }
            if now_ns >= self.sampler.beat_ns() {
                self.sample(sink)?;
            }
            self.clock.sleep(LANDING_LOOK_NS);
        }
        Ok(())
    }

    /// Puts `changes` into force, or refuses them. The arrivals of an open loop go on meanwhile: a change is
    /// no pause. Requests that it drops count before it, or are told where no sample is under way; the state is
    /// read once requests flow again.
    fn change(&mut self, changes: Settings, sink: &mut dyn Sink) -> Result<(), KvError> {
        let (settings, plan) = match apply(&self.settings, &changes) {
            Ok(changed) => changed,
            Err(reason) => {
                let line = Control::Set(changes).to_string();
                return Ok(sink.send(Message::Refused { line, reason })?);
            }
        };
        if self.going {
            self.crew.gate.close();
            self.land(sink)?;
        }
        if plan.work.unstable().is_some() || plan.work.values != self.crew.plans.latest().work.values {
            (self.mark_changed)()?;
        }
        let now_ns = self.clock.now_ns();
        if plan.pace != self.crew.plans.latest().pace {
            self.crew.arrivals.change(&plan.pace, self.seed, now_ns);
        }
        let before = self.going.then(|| self.count(now_ns));
        if let dropped @ 1.. = self.newly_dropped(now_ns) {
            let text =
                format!("{dropped} requests that waited in a pause were dropped by the change that ends the open loop");
            sink.send(Message::Note { t_ns: now_ns, text })?;
        }
        self.sampler.sample_also(&plan.work.operations());
        self.crew.plans.add(plan);
        self.settings = settings;
        if let Some(sample) = before {
            self.crew.gate.open();
            self.tell(sample, sink)?;
        }
        Ok(sink.send(Message::Setting { t_ns: now_ns, settings: in_force(&self.settings, &changes) })?)
    }

    /// The step of the timetable that is due.
    fn due_step(&mut self) -> Option<Control> {
        let began_ns = self.began_ns?;
        let due = self.script.front().is_some_and(|step| began_ns.saturating_add(step.at_ns) <= self.clock.now_ns());
        due.then(|| self.script.pop_front()).flatten().map(|step| Control::Set(step.settings))
    }

    fn sample(&mut self, sink: &mut dyn Sink) -> Result<(), KvError> {
        let sample = self.count(self.clock.now_ns());
        self.tell(sample, sink)
    }

    /// What the threads did since the last look, at `now_ns`.
    fn count(&mut self, now_ns: u64) -> Sample {
        let dropped = self.newly_dropped(now_ns);
        Sample { dropped, ..self.sampler.take(now_ns) }
    }

    fn newly_dropped(&mut self, now_ns: u64) -> u64 {
        let dropped = self.crew.arrivals.dropped_by(now_ns);
        dropped - std::mem::replace(&mut self.dropped, dropped)
    }

    /// Sends `sample` with the engine's state.
    fn tell(&mut self, mut sample: Sample, sink: &mut dyn Sink) -> Result<(), KvError> {
        self.reader.add_to(&mut sample);
        Ok(sink.send(Message::Sample(sample))?)
    }

    fn wait_and_sample(&mut self, sink: &mut dyn Sink) -> Result<(), KvError> {
        if self.sampler.wait(self.going, u64::MAX, self.clock) { self.sample(sink) } else { Ok(()) }
    }
}

#[cfg(test)]
#[path = "driver_tests.rs"]
mod tests;
