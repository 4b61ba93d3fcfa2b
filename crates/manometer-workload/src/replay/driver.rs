//! Whoever drives the threads: heeds control lines, sets the schedule's zero, takes samples.

use manometer_measure::Clock;
use manometer_measure::plan::Settings;
use manometer_target::engine::Engine;

use super::client::Tally;
use super::error::ReplayError;
use super::wait::Schedule;
use crate::control::Sink;
use crate::kv::gate::Gate;
use crate::kv::load::Watch;
use crate::kv::sampler::{LOOK_NS, Sampler};
use crate::kv::state_reader::StateReader;
use crate::protocol::{Control, Message};

/// How long after `go` the first request is due, and how much later than before a pause all others are: by then every
/// thread waits for them.
const RUN_UP_NS: u64 = 20_000_000;
/// How long requests under way are waited for in a pause.
const LANDING_NS: u64 = 1_000_000_000;
/// The setting by which several processes begin at the same moment of the clock they share.
pub(super) const START: &str = "start_ns";

/// Heeds control lines and takes samples while the threads are at work.
pub(super) struct Driver<'a, C> {
    pub(super) clock: &'a C,
    pub(super) engine: &'a dyn Engine,
    pub(super) gate: &'a Gate,
    pub(super) schedule: &'a Schedule,
    pub(super) tallies: &'a [Tally],
    pub(super) sampler: Sampler<'a>,
    pub(super) reader: StateReader,
    /// When the first request shall be due, where somebody said so.
    pub(super) start_ns: Option<u64>,
    /// When it began, on the clock, pauses added: so much of what followed is the replay's own time.
    pub(super) began_ns: u64,
    /// Since when it is paused; nothing before the first `go` and while requests are sent.
    pub(super) paused_ns: Option<u64>,
    pub(super) going: bool,
    /// Until when requests that wait for no time of their own are held; nothing once they are let go.
    pub(super) held_until_ns: Option<u64>,
    /// Whether the engine has told that its own work failed.
    pub(super) has_complained: bool,
}

impl<C: Clock> Driver<'_, C> {
    /// Drives until told to stop, or until `is_done` says that the threads are; tells whether they were not.
    pub(super) fn drive(&mut self, watch: &mut Watch, is_done: &dyn Fn() -> bool) -> Result<bool, ReplayError> {
        loop {
            if is_done() {
                return self.halt(watch.sink).map(|()| false);
            }
            self.listen_to_engine(watch.sink)?;
            self.let_go_in_time();
            match watch.early.pop_front().or_else(|| watch.controls.poll()) {
                Some(Control::Go) => self.go(),
                Some(Control::Wait) => self.halt(watch.sink)?,
                Some(Control::Stop) => return self.halt(watch.sink).map(|()| true),
                Some(Control::Set(changes)) => self.change(changes, watch.sink)?,
                None => self.wait_and_sample(watch.sink)?,
            }
        }
    }

    /// Lets requests come due from here on, or from where they were paused.
    fn go(&mut self) {
        if self.going {
            return;
        }
        self.reader.start();
        let now_ns = self.clock.now_ns();
        let zero_ns = match self.paused_ns.take() {
            None if self.schedule.is_free() => self.start_ns.unwrap_or(now_ns).max(now_ns),
            None => self.start_ns.unwrap_or(now_ns + RUN_UP_NS),
            Some(paused_ns) => {
                let run_up_ns = if self.schedule.is_free() { 0 } else { RUN_UP_NS };
                self.schedule.zero_ns().saturating_add(now_ns - paused_ns + run_up_ns)
            }
        };
        self.began_ns = zero_ns;
        self.schedule.begin_at(zero_ns);
        self.sampler.begin(now_ns);
        if self.schedule.is_free() && zero_ns > now_ns {
            self.held_until_ns = Some(zero_ns);
        } else {
            self.gate.open();
        }
        self.going = true;
    }

    /// Opens the gate when the time has come at which all processes begin.
    fn let_go_in_time(&mut self) {
        if self.held_until_ns.is_some_and(|until_ns| self.clock.now_ns() >= until_ns) {
            self.held_until_ns = None;
            self.gate.open();
        }
    }

    /// Holds the threads and tells what they did since the last beat.
    fn halt(&mut self, sink: &mut dyn Sink) -> Result<(), ReplayError> {
        if !self.going {
            return Ok(());
        }
        self.held_until_ns = None;
        self.gate.close();
        let now_ns = self.clock.now_ns();
        self.paused_ns = Some(now_ns);
        self.going = false;
        while self.tallies.iter().any(Tally::is_under_way) && self.clock.now_ns() < now_ns + LANDING_NS {
            self.clock.sleep(LOOK_NS / 10);
        }
        self.sample(sink)
    }

    /// A server that is gone may come back: its loss ends nothing, and is told once.
    fn listen_to_engine(&mut self, sink: &mut dyn Sink) -> Result<(), ReplayError> {
        let Err(error) = self.engine.check() else { return Ok(()) };
        if !std::mem::replace(&mut self.has_complained, true) {
            let text = format!("the replay goes on, and counts what fails: {error}");
            sink.send(Message::Note { t_ns: self.clock.now_ns(), text })?;
        }
        Ok(())
    }

    fn change(&mut self, changes: Settings, sink: &mut dyn Sink) -> Result<(), ReplayError> {
        let begun = self.going || self.paused_ns.is_some();
        match (changes.get(START).and_then(serde_json::Value::as_u64), changes.len()) {
            (Some(start_ns), 1) if !begun => {
                self.start_ns = Some(start_ns);
                Ok(sink.send(Message::Setting { t_ns: self.clock.now_ns(), settings: changes })?)
            }
            _ => {
                let reason = format!(
                    "a replay follows its trace: only `{START}`, when its first request is due, can be set, and only \
                     before the first `go`"
                );
                Ok(sink.send(Message::Refused { line: Control::Set(changes).to_string(), reason })?)
            }
        }
    }

    fn sample(&mut self, sink: &mut dyn Sink) -> Result<(), ReplayError> {
        let mut sample = self.sampler.take(self.clock.now_ns());
        self.reader.add_to(&mut sample);
        Ok(sink.send(Message::Sample(sample))?)
    }

    fn wait_and_sample(&mut self, sink: &mut dyn Sink) -> Result<(), ReplayError> {
        let until_ns = self.held_until_ns.unwrap_or(u64::MAX);
        if self.sampler.wait(self.going, until_ns, self.clock) { self.sample(sink) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use manometer_measure::ManualClock;
    use manometer_target::engine::{OpenRequest, Options, find};

    use super::*;

    /// When the schedule's zero is after a pause of a second that began a second after the first `go`.
    fn zeros(margin_ns: u64) -> [u64; 2] {
        let request = OpenRequest { directory: Path::new("/"), options: &Options::Defaults, value_bytes: 100 };
        let engine = (find("null").unwrap().open)(&request).unwrap();
        let (gate, schedule, clock) = (Gate::default(), Schedule::new(margin_ns, 1), ManualClock::at(5_000_000_000));
        std::thread::scope(|scope| {
            let mut driver = Driver {
                clock: &clock,
                engine: &*engine,
                gate: &gate,
                schedule: &schedule,
                tallies: &[],
                sampler: Sampler::new(&[], [], 100),
                reader: StateReader::new(scope, engine.state(), &clock, 100),
                start_ns: None,
                began_ns: u64::MAX,
                paused_ns: None,
                going: false,
                held_until_ns: None,
                has_complained: false,
            };
            driver.go();
            let first_ns = schedule.zero_ns();
            clock.sleep(1_000_000_000);
            driver.halt(&mut |_| Ok(())).unwrap();
            clock.sleep(1_000_000_000);
            driver.go();
            assert_eq!(driver.began_ns, schedule.zero_ns());
            [first_ns, schedule.zero_ns()]
        })
    }

    #[test]
    fn what_follows_a_pause_has_a_run_up_as_the_beginning_has() {
        assert_eq!(zeros(20_000), [5_000_000_000 + RUN_UP_NS, 6_000_000_000 + 2 * RUN_UP_NS]);
    }

    #[test]
    fn at_full_speed_nobody_waits_for_a_run_up() {
        assert_eq!(zeros(0), [5_000_000_000, 6_000_000_000]);
    }
}
