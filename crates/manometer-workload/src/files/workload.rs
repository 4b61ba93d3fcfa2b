//! A `files` workload as a session drives it: its threads, its rate, its counts.

use manometer_measure::plan::Settings;

use super::FilesError;
use super::change::{apply, values_of};
use super::plan::FilesPlan;
use super::settings::FilesSettings;
use super::shared::Shared;
use crate::error::WorkloadError;
use crate::sample::Counts;
use crate::workload::{ChangeOutcome, DrainMode, SamplingMode, Workload, WorkloadEvent};

/// Starts the thread with a number.
pub(super) type StartThread<'a> = dyn FnMut(u32) -> Result<(), FilesError> + 'a;

/// The threads of a `files` workload.
pub(super) struct FilesWorkload<'a> {
    shared: &'a Shared<'a>,
    settings: FilesSettings,
    start: &'a mut StartThread<'a>,
    /// How many threads were started.
    started: u32,
    checked: Option<(FilesSettings, FilesPlan, Settings)>,
    /// When counts were taken last.
    pub(super) counted_ns: u64,
    events: Vec<WorkloadEvent>,
}

impl<'a> FilesWorkload<'a> {
    /// Starts the threads, which wait; `notes` are reported first.
    pub(super) fn new(
        shared: &'a Shared<'a>,
        settings: FilesSettings,
        start: &'a mut StartThread<'a>,
        notes: Vec<String>,
    ) -> Result<Self, FilesError> {
        let t_ns = shared.clock.now_ns();
        let events = notes.into_iter().map(|text| WorkloadEvent::Note { t_ns, text }).collect();
        let mut workload = Self { shared, settings, start, started: 0, checked: None, counted_ns: t_ns, events };
        workload.start_up_to(shared.plan.threads)?;
        Ok(workload)
    }

    fn start_up_to(&mut self, threads: u32) -> Result<(), FilesError> {
        while self.started < threads {
            (self.start)(self.started)?;
            self.started += 1;
        }
        Ok(())
    }
}

impl Workload for FilesWorkload<'_> {
    fn sampling(&self) -> SamplingMode {
        SamplingMode::Always
    }

    fn go(&mut self, _: u64) -> Result<(), WorkloadError> {
        self.shared.gate.set_going(true);
        Ok(())
    }

    fn pause(&mut self, _: u64) -> Result<(), WorkloadError> {
        self.shared.gate.set_going(false);
        Ok(())
    }

    fn is_over(&mut self) -> Result<bool, WorkloadError> {
        Ok(self.shared.gate.is_stopped())
    }

    fn check_change(&mut self, changes: &Settings) -> Result<DrainMode, String> {
        let (settings, plan) = apply(&self.settings, changes).map_err(|error| error.to_string())?;
        self.checked = Some((settings, plan, changes.clone()));
        Ok(DrainMode::None)
    }

    fn apply_change(&mut self, now_ns: u64) -> Result<ChangeOutcome, WorkloadError> {
        let Some((settings, plan, changes)) = self.checked.take() else {
            return Ok(ChangeOutcome::Refused("no change was checked".to_owned()));
        };
        self.start_up_to(plan.threads)?;
        self.shared.gate.set_active(plan.threads);
        if settings.rate != self.settings.rate {
            self.shared.pace.change(plan.rate, now_ns);
        }
        self.settings = settings;
        Ok(ChangeOutcome::Applied { settings: values_of(&plan, &changes), counts: None, script: None })
    }

    fn take_counts(&mut self, now_ns: u64) -> Option<Counts> {
        self.counted_ns = now_ns;
        Some(self.shared.counts.take_counts(self.shared.plan.operations()))
    }

    fn take_events(&mut self) -> Vec<WorkloadEvent> {
        std::mem::take(&mut self.events)
    }
}
