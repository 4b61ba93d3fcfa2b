//! A `kv` workload as a session drives it: gate, arrivals, settings, counts.

use manometer_measure::Clock;
use manometer_measure::plan::Settings;
use manometer_target::engine::{Engine, EngineError};

use super::change::apply;
use super::plan::KvPlan;
use super::sampler::Sampler;
use super::settings::KvSettings;
use super::threads::ClientThreads;
use crate::change::values_of;
use crate::error::WorkloadError;
use crate::interface::{ChangeOutcome, DrainMode, SamplingMode, Workload, WorkloadEvent};
use crate::sample::SampleCounts;

/// Client threads on an engine.
pub(super) struct KvWorkload<'a, C> {
    clock: &'a C,
    engine: &'a dyn Engine,
    threads: &'a ClientThreads<'a>,
    sampler: Sampler<'a>,
    settings: KvSettings,
    seed: u64,
    going: bool,
    dropped: u64,
    /// The result of the change that was checked last.
    checked: Option<(Settings, KvSettings, KvPlan)>,
    events: Vec<WorkloadEvent>,
    /// Marks the data as changed since loading; called before the first request that changes which records exist, or their
    /// lengths.
    mark_changed: &'a mut dyn FnMut() -> Result<(), EngineError>,
}

impl<'a, C: Clock> KvWorkload<'a, C> {
    pub(super) fn new(
        clock: &'a C,
        engine: &'a dyn Engine,
        threads: &'a ClientThreads<'a>,
        settings: &KvSettings,
        seed: u64,
        mark_changed: &'a mut dyn FnMut() -> Result<(), EngineError>,
    ) -> Self {
        Self {
            sampler: Sampler::new(&threads.plans.latest().spec.operations(), threads.counters),
            settings: settings.clone(),
            clock,
            engine,
            threads,
            seed,
            going: false,
            dropped: 0,
            checked: None,
            events: Vec::new(),
            mark_changed,
        }
    }

    fn count(&mut self, now_ns: u64) -> SampleCounts {
        SampleCounts { dropped: self.newly_dropped(now_ns), operations: self.sampler.take(), ..SampleCounts::default() }
    }

    fn newly_dropped(&mut self, now_ns: u64) -> u64 {
        let dropped = self.threads.arrivals.dropped_by(now_ns);
        dropped - std::mem::replace(&mut self.dropped, dropped)
    }
}

impl<C: Clock> Workload for KvWorkload<'_, C> {
    fn sampling(&self) -> SamplingMode {
        SamplingMode::Running
    }

    fn go(&mut self, now_ns: u64) -> Result<(), WorkloadError> {
        self.threads.arrivals.resume(now_ns);
        self.threads.gate.open();
        self.going = true;
        Ok(())
    }

    fn pause(&mut self, _: u64) -> Result<(), WorkloadError> {
        self.threads.gate.close();
        // Requests that came due while the gate was closing belong before the pause.
        self.threads.arrivals.pause(self.clock.now_ns());
        self.going = false;
        Ok(())
    }

    fn is_drained(&self) -> bool {
        self.threads.are_parked() || self.threads.has_failed()
    }

    fn is_over(&mut self) -> Result<bool, WorkloadError> {
        if self.threads.has_failed() {
            return Ok(true);
        }
        self.engine.check_background().map_err(super::KvError::from)?;
        Ok(self.threads.at_work() == 0)
    }

    fn check_change(&mut self, changes: &Settings) -> Result<DrainMode, String> {
        let (settings, plan) = apply(&self.settings, changes)?;
        self.checked = Some((values_of(&settings, changes), settings, plan));
        if self.going {
            self.threads.gate.close();
        }
        Ok(if self.going { DrainMode::Briefly } else { DrainMode::None })
    }

    /// The arrivals of an open loop go on meanwhile: a change is no pause. Requests that it drops count before it, or,
    /// where no sample is due, in a note.
    fn apply_change(&mut self, _: u64) -> Result<ChangeOutcome, WorkloadError> {
        let Some((changes, settings, plan)) = self.checked.take() else {
            return Ok(ChangeOutcome::Refused("no change was checked".to_owned()));
        };
        let in_force = self.threads.plans.latest();
        if plan.spec.unstable().is_some() || plan.spec.values != in_force.spec.values {
            (self.mark_changed)().map_err(super::KvError::from)?;
        }
        let now_ns = self.clock.now_ns();
        if plan.pace != in_force.pace {
            self.threads.arrivals.change(&plan.pace, self.seed, now_ns);
        }
        let counts = self.going.then(|| self.count(now_ns));
        if let dropped @ 1.. = self.newly_dropped(now_ns) {
            let text = format!(
                "{dropped} requests that waited in a pause were dropped by the change that ended the open loop"
            );
            self.events.push(WorkloadEvent::Note { t_ns: now_ns, text });
        }
        self.sampler.add_operations(&plan.spec.operations());
        self.threads.plans.add(plan);
        self.settings = settings;
        if self.going {
            self.threads.gate.open();
        }
        Ok(ChangeOutcome::Applied { settings: changes, counts, script: None })
    }

    fn take_counts(&mut self, now_ns: u64) -> Option<SampleCounts> {
        Some(self.count(now_ns))
    }

    fn take_events(&mut self) -> Vec<WorkloadEvent> {
        std::mem::take(&mut self.events)
    }
}
