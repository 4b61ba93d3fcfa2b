//! The replay as a [`Workload`]: gate, schedule and counts.

use std::sync::atomic::{AtomicU32, Ordering};

use manometer_measure::Clock;
use manometer_measure::plan::Settings;
use manometer_target::engine::Engine;

use super::client::ReplayCounters;
use super::schedule::Schedule;
use crate::error::WorkloadError;
use crate::interface::{ChangeOutcome, DrainMode, SamplingMode, Workload, WorkloadEvent};
use crate::kv::gate::Gate;
use crate::kv::sampler::Sampler;
use crate::sample::SampleCounts;

/// How long after `go` the first request is due, in nanoseconds, and by how much a pause delays the others: enough for
/// every thread to wait by then.
const RUN_UP_NS: u64 = 20_000_000;
/// The setting with which several processes start at the same time of their shared clock.
pub const START: &str = "start_ns";

/// The workload of a replay: its threads and schedule.
pub(super) struct ReplayWorkload<'a> {
    engine: &'a dyn Engine,
    gate: &'a Gate,
    schedule: &'a Schedule,
    counters: &'a [ReplayCounters],
    /// Threads that have not reached the end of the trace.
    at_work: &'a AtomicU32,
    sampler: Sampler<'a>,
    /// When the first request is due, on the clock, if set.
    start_ns: Option<u64>,
    /// The start time of the last checked change.
    checked: Option<(u64, Settings)>,
    /// The start of the replay on the clock, plus all pauses: the zero of the replay's own time.
    pub(super) began_ns: u64,
    /// Start of the current pause; `None` before the first `go` and while requests are sent.
    paused_ns: Option<u64>,
    going: bool,
    /// Until when threads without a schedule are held back; `None` once they are released.
    held_until_ns: Option<u64>,
    /// Whether the loss of the engine was reported.
    has_reported_engine: bool,
    events: Vec<WorkloadEvent>,
}

impl<'a> ReplayWorkload<'a> {
    pub(super) fn new(
        engine: &'a dyn Engine,
        (gate, schedule): (&'a Gate, &'a Schedule),
        counters: &'a [ReplayCounters],
        at_work: &'a AtomicU32,
        sampler: Sampler<'a>,
    ) -> Self {
        Self {
            engine,
            gate,
            schedule,
            counters,
            at_work,
            sampler,
            start_ns: None,
            checked: None,
            began_ns: u64::MAX,
            paused_ns: None,
            going: false,
            held_until_ns: None,
            has_reported_engine: false,
            events: Vec::new(),
        }
    }

    /// Whether every thread has reached the end of the trace.
    pub(super) fn is_at_end(&self) -> bool {
        self.at_work.load(Ordering::Acquire) == 0
    }

    /// Reports the loss of the engine once. The replay continues, because a server may come back.
    fn check_engine(&mut self, now_ns: u64) {
        if let Err(error) = self.engine.check_background()
            && !std::mem::replace(&mut self.has_reported_engine, true)
        {
            let text = format!("the replay continues and counts failed requests: {error}");
            self.events.push(WorkloadEvent::Note { t_ns: now_ns, text });
        }
    }
}

impl Workload for ReplayWorkload<'_> {
    fn sampling(&self) -> SamplingMode {
        SamplingMode::Running
    }

    /// Starts the schedule, or resumes it where it was paused.
    fn go(&mut self, now_ns: u64) -> Result<(), WorkloadError> {
        if self.going {
            return Ok(());
        }
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
        if self.schedule.is_free() && zero_ns > now_ns {
            self.held_until_ns = Some(zero_ns);
        } else {
            self.gate.open();
        }
        self.going = true;
        Ok(())
    }

    fn pause(&mut self, now_ns: u64) -> Result<(), WorkloadError> {
        self.held_until_ns = None;
        self.gate.close();
        self.paused_ns = Some(now_ns);
        self.going = false;
        Ok(())
    }

    fn is_drained(&self) -> bool {
        !self.counters.iter().any(ReplayCounters::is_in_flight)
    }

    fn is_over(&mut self) -> Result<bool, WorkloadError> {
        Ok(self.is_at_end())
    }

    /// Opens the gate at the common start time of all processes.
    fn work_until(&mut self, deadline_ns: u64, clock: &dyn Clock) -> Result<(), WorkloadError> {
        self.check_engine(clock.now_ns());
        clock.sleep_until(self.held_until_ns.unwrap_or(u64::MAX).min(deadline_ns));
        if self.held_until_ns.is_some_and(|until_ns| clock.now_ns() >= until_ns) {
            self.held_until_ns = None;
            self.gate.open();
        }
        Ok(())
    }

    fn check_change(&mut self, changes: &Settings) -> Result<DrainMode, String> {
        let has_begun = self.going || self.paused_ns.is_some();
        match (changes.get(START).and_then(serde_json::Value::as_u64), changes.len()) {
            (Some(start_ns), 1) if !has_begun => {
                self.checked = Some((start_ns, changes.clone()));
                Ok(DrainMode::None)
            }
            _ => Err(format!(
                "a replay follows its trace: only `{START}`, when its first request is due, can be set, and only before \
                 the first `go`"
            )),
        }
    }

    fn apply_change(&mut self, _: u64) -> Result<ChangeOutcome, WorkloadError> {
        let Some((start_ns, settings)) = self.checked.take() else {
            return Ok(ChangeOutcome::Refused("no change was checked".to_owned()));
        };
        self.start_ns = Some(start_ns);
        Ok(ChangeOutcome::Applied { settings, counts: None, script: None })
    }

    fn take_counts(&mut self, _: u64) -> Option<SampleCounts> {
        Some(SampleCounts { operations: self.sampler.take(), ..SampleCounts::default() })
    }

    fn take_events(&mut self) -> Vec<WorkloadEvent> {
        std::mem::take(&mut self.events)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use manometer_measure::ManualClock;
    use manometer_target::engine::{EngineOptions, OpenRequest, find};

    use super::*;

    /// The schedule's zero after a first `go` at 5 s and after a pause from 6 to 7 s.
    fn zeros(margin_ns: u64) -> [u64; 2] {
        let request = OpenRequest { directory: Path::new("/"), options: &EngineOptions::default(), value_bytes: 100 };
        let engine = (find("null").unwrap().open)(&request).unwrap();
        let (gate, schedule, clock) = (Gate::default(), Schedule::new(margin_ns, 1), ManualClock::at(5_000_000_000));
        let at_work = AtomicU32::new(1);
        let mut replay = ReplayWorkload::new(&*engine, (&gate, &schedule), &[], &at_work, Sampler::new(&[], []));
        replay.go(clock.now_ns()).unwrap();
        let first_ns = schedule.zero_ns();
        clock.sleep(1_000_000_000);
        replay.pause(clock.now_ns()).unwrap();
        clock.sleep(1_000_000_000);
        replay.go(clock.now_ns()).unwrap();
        assert_eq!(replay.began_ns, schedule.zero_ns());
        [first_ns, schedule.zero_ns()]
    }

    #[test]
    fn a_resumed_schedule_has_a_run_up_as_at_the_start() {
        assert_eq!(zeros(20_000), [5_000_000_000 + RUN_UP_NS, 6_000_000_000 + 2 * RUN_UP_NS]);
    }

    #[test]
    fn full_speed_needs_no_run_up() {
        assert_eq!(zeros(0), [5_000_000_000, 6_000_000_000]);
    }
}
