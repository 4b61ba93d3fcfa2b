//! Threads that act on files, as a session drives them: their number, their rate, their counts.

use manometer_measure::Rate;
use manometer_measure::plan::Settings;

use super::{FileOperation, FilesError, ThreadContext, ThreadEnd};
use crate::error::WorkloadError;
use crate::interface::{ChangeOutcome, DrainMode, SamplingMode, Workload, WorkloadEvent};
use crate::sample::SampleCounts;
use crate::setting_error::SettingError;

/// What the threads of a workload do.
pub(crate) trait FileWork: Sync {
    /// The settings of the workload.
    type Settings: Clone;

    /// The operations that are counted.
    fn operations(&self) -> &'static [FileOperation];

    /// Whether a step is skipped where no file is available.
    fn skips(&self) -> bool {
        false
    }

    /// Threads in addition to those of the settings; they have the first numbers.
    fn writers(&self) -> u32 {
        0
    }

    /// Works as the thread `number` until it is stopped.
    fn work(&self, shared: &ThreadContext<'_>, number: u32) -> Result<(), ThreadEnd>;

    /// Releases threads that wait for one another, for good.
    fn close(&self) {}

    /// Applies `changes` to `current`; puts nothing into force.
    fn apply(&self, current: &Self::Settings, changes: &Settings)
    -> Result<ThreadChange<Self::Settings>, SettingError>;

    /// Puts into force what is not the number of threads or the rate.
    fn put_in_force(&self, _: &Self::Settings) {}
}

/// Changed settings.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ThreadChange<S> {
    pub(crate) settings: S,
    pub(crate) threads: u32,
    pub(crate) rate: Option<Rate>,
    /// The settings that changed, with their new values.
    pub(crate) values: Settings,
}

/// Starts the thread with a number.
pub(super) type StartThread<'a> = dyn FnMut(u32) -> Result<(), FilesError> + 'a;

/// The threads of a workload.
pub(super) struct FileThreads<'a, W: FileWork> {
    shared: &'a ThreadContext<'a>,
    work: &'a W,
    settings: W::Settings,
    rate: Option<Rate>,
    start: &'a mut StartThread<'a>,
    /// How many threads were started.
    started: u32,
    checked: Option<ThreadChange<W::Settings>>,
    /// When counts were taken last.
    pub(super) counted_ns: u64,
    events: Vec<WorkloadEvent>,
}

impl<'a, W: FileWork> FileThreads<'a, W> {
    /// Starts `threads` threads, which wait; `notes` are reported first.
    pub(super) fn new(
        shared: &'a ThreadContext<'a>,
        (work, settings): (&'a W, W::Settings),
        (threads, rate): (u32, Option<Rate>),
        start: &'a mut StartThread<'a>,
        notes: Vec<String>,
    ) -> Result<Self, FilesError> {
        let t_ns = shared.clock.now_ns();
        let events = notes.into_iter().map(|text| WorkloadEvent::Note { t_ns, text }).collect();
        let mut workload =
            Self { shared, work, settings, rate, start, started: 0, checked: None, counted_ns: t_ns, events };
        workload.start_up_to(threads)?;
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

impl<W: FileWork> Workload for FileThreads<'_, W> {
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
        self.checked = Some(self.work.apply(&self.settings, changes).map_err(|error| error.to_string())?);
        Ok(DrainMode::None)
    }

    fn apply_change(&mut self, now_ns: u64) -> Result<ChangeOutcome, WorkloadError> {
        let Some(change) = self.checked.take() else {
            return Ok(ChangeOutcome::Refused("no change was checked".to_owned()));
        };
        self.start_up_to(change.threads)?;
        self.shared.gate.set_active(change.threads);
        if change.rate != self.rate {
            self.shared.pace.change(change.rate, now_ns);
            self.rate = change.rate;
        }
        self.work.put_in_force(&change.settings);
        self.settings = change.settings;
        Ok(ChangeOutcome::Applied { settings: change.values, counts: None, script: None })
    }

    fn take_counts(&mut self, now_ns: u64) -> Option<SampleCounts> {
        self.counted_ns = now_ns;
        Some(self.shared.counts.take_counts(self.work.operations()))
    }

    fn take_events(&mut self) -> Vec<WorkloadEvent> {
        std::mem::take(&mut self.events)
    }
}
