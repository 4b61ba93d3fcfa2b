//! An `io` workload as a session drives it: one thread keeps requests in flight.

use std::collections::VecDeque;
use std::path::PathBuf;

use manometer_measure::plan::Settings;
use manometer_measure::{Clock, ReplayOutcome};
use manometer_target::file::{DataGenerator, FileError, IoBackend, IoEngine};

use super::change::apply;
use super::counts::IoCounts;
use super::in_flight::InFlight;
use super::pattern::Pattern;
use super::request::BlockRequest;
use super::token_bucket::TokenBucket;
use super::trace::{SourceStep, TraceSource};
use super::{IoError, IoSettings, parse_script};
use crate::change::values_of;
use crate::error::WorkloadError;
use crate::interface::{ChangeOutcome, DrainMode, SamplingMode, Workload};
use crate::sample::SampleCounts;
use crate::script::ScriptStep;
use crate::setting_error::SettingError;

/// Sets up a backend for settings.
pub type OpenBackend<'a> = dyn FnMut(&IoSettings) -> Result<Box<dyn IoBackend>, FileError> + 'a;

/// The files of a run and how they are used; constant during the run.
#[derive(Debug, Clone)]
pub struct IoFiles {
    /// The files.
    pub paths: Vec<PathBuf>,
    /// How requests reach the kernel.
    pub engine: IoEngine,
    /// Bytes of a block of the file system.
    pub fs_block_bytes: u64,
    /// Whether the files may be written at all.
    pub may_write: bool,
}

/// The source of requests.
pub(super) enum RequestSource<'a> {
    /// The pattern of the settings.
    Pattern(Pattern),
    /// A trace.
    Trace(Box<TraceSource<'a>>),
}

/// A change that was checked.
struct CheckedChange {
    changes: Settings,
    settings: IoSettings,
    /// The new timetable, when it changes too.
    script: Option<Vec<ScriptStep>>,
}

/// The thread that keeps requests in flight.
pub(super) struct IoWorkload<'a, 't> {
    files: IoFiles,
    open: &'a mut OpenBackend<'a>,
    settings: IoSettings,
    in_flight: InFlight,
    source: RequestSource<'t>,
    data: DataGenerator,
    bucket: Option<TokenBucket>,
    counts: IoCounts,
    going: bool,
    checked: Option<CheckedChange>,
    /// Whether the checked change waits until requests have drained.
    is_draining: bool,
    /// When the completed requests that are not yet counted were received.
    finished_ns: Option<u64>,
    /// Finished writes of each file since its last `fdatasync`, and the files for which one is due.
    unsynced: Vec<u64>,
    sync_due: VecDeque<u32>,
}

impl<'a, 't> IoWorkload<'a, 't> {
    /// Sends nothing before the first `go`.
    pub(super) fn new(
        files: IoFiles,
        settings: IoSettings,
        (source, data): (RequestSource<'t>, DataGenerator),
        open: &'a mut OpenBackend<'a>,
        backend: Box<dyn IoBackend>,
        now_ns: u64,
    ) -> Self {
        Self {
            in_flight: InFlight::new(backend, files.engine, settings.iodepth),
            bucket: settings.rate.map(|rate| TokenBucket::new(rate, now_ns)),
            counts: IoCounts::default(),
            unsynced: vec![0; files.paths.len()],
            files,
            open,
            settings,
            source,
            data,
            going: false,
            checked: None,
            is_draining: false,
            finished_ns: None,
            sync_due: VecDeque::new(),
        }
    }

    /// The outcome of a trace up to `now_ns`; nothing for a pattern.
    pub(super) fn into_replayed(self, now_ns: u64) -> Option<ReplayOutcome> {
        match self.source {
            RequestSource::Pattern(_) => None,
            RequestSource::Trace(trace) => Some(trace.replayed(now_ns)),
        }
    }

    /// Sends requests up to the queue depth, and returns until when there is nothing else to do.
    fn fill(&mut self, mut now_ns: u64, deadline_ns: u64, clock: &dyn Clock) -> u64 {
        if !self.going || self.is_draining {
            return deadline_ns;
        }
        while self.in_flight.has_room() {
            if let Some(file) = self.sync_due.pop_front() {
                self.in_flight.send_sync(file, now_ns);
                continue;
            }
            let (next, due_ns) = match self.next(now_ns) {
                Ok(next) => next,
                Err(ready_ns) => return ready_ns.min(deadline_ns),
            };
            self.in_flight.send(next, due_ns, now_ns, &mut self.data);
            if due_ns.is_some() {
                now_ns = clock.now_ns();
            }
        }
        deadline_ns
    }

    /// The next request at `now_ns` and when it was due, if it has a due time.
    ///
    /// # Errors
    /// There is none before the returned time.
    fn next(&mut self, now_ns: u64) -> Result<(BlockRequest, Option<u64>), u64> {
        match &mut self.source {
            RequestSource::Pattern(pattern) => {
                let bytes = self.settings.block_size.0;
                self.bucket.as_mut().map_or(Ok(()), |bucket| bucket.take(now_ns, bytes))?;
                Ok((pattern.next(), None))
            }
            RequestSource::Trace(trace) => match trace.turn(now_ns) {
                SourceStep::Send(next, due_ns) => Ok((next, due_ns)),
                SourceStep::Wait(due_ns) => Err(due_ns),
                SourceStep::End => Err(u64::MAX),
            },
        }
    }

    /// Waits for completions, or for the time alone when nothing is in flight; returns the time afterwards.
    fn wait(&mut self, now_ns: u64, deadline_ns: u64, clock: &dyn Clock) -> Result<u64, IoError> {
        let margin_ns = if let RequestSource::Trace(trace) = &self.source { trace.margin_ns } else { 0 };
        let is_soon = deadline_ns.saturating_sub(now_ns) <= margin_ns;
        if self.in_flight.is_empty() {
            if is_soon {
                return Ok(clock.spin_until(deadline_ns));
            }
            clock.sleep_until(deadline_ns - margin_ns);
            return Ok(clock.now_ns());
        }
        // Shortly before a request is due, completions are polled for without sleeping.
        self.in_flight.wait(now_ns, if is_soon { now_ns } else { deadline_ns - margin_ns })?;
        let now_ns = clock.now_ns();
        self.finished_ns = Some(now_ns);
        Ok(now_ns)
    }

    /// Counts completed requests.
    fn complete(&mut self) -> Result<(), IoError> {
        let Some(finished_ns) = self.finished_ns.take() else { return Ok(()) };
        let (every, unsynced, due) = (self.settings.fdatasync_every, &mut self.unsynced, &mut self.sync_due);
        let mut wrote = |file: u32| {
            unsynced[file as usize] += 1;
            if every > 0 && unsynced[file as usize] >= every {
                unsynced[file as usize] = 0;
                due.push_back(file);
            }
        };
        self.in_flight.complete(finished_ns, &self.files.paths, &mut self.counts, &mut wrote)
    }

    /// The result of `changes`.
    fn resolve(&self, changes: &Settings) -> Result<CheckedChange, IoError> {
        let block_bytes = self.files.fs_block_bytes;
        let settings = apply(&self.settings, changes, block_bytes)?;
        may_write(&settings, self.files.may_write)?;
        let script = match &settings.script {
            Some(text) if changes.contains_key("script") => Some(parse_script(text, &settings, block_bytes)?),
            None if changes.contains_key("script") => Some(Vec::new()),
            _ => None,
        };
        Ok(CheckedChange { changes: changes.clone(), settings, script })
    }

    /// Whether nothing may be in flight while `settings` come into force.
    fn must_drain(&self, settings: &IoSettings) -> bool {
        let shape = |settings: &IoSettings| (settings.block_size, settings.iodepth, settings.direct, settings.dsync);
        shape(settings) != shape(&self.settings)
    }
}

impl Workload for IoWorkload<'_, '_> {
    fn sampling(&self) -> SamplingMode {
        SamplingMode::Always
    }

    fn go(&mut self, now_ns: u64) -> Result<(), WorkloadError> {
        self.going = true;
        if let RequestSource::Trace(trace) = &mut self.source {
            trace.go(now_ns);
        }
        Ok(())
    }

    fn pause(&mut self, now_ns: u64) -> Result<(), WorkloadError> {
        self.going = false;
        if let RequestSource::Trace(trace) = &mut self.source {
            trace.pause(now_ns);
        }
        Ok(())
    }

    fn is_drained(&self) -> bool {
        self.in_flight.is_empty() && self.finished_ns.is_none()
    }

    fn is_over(&mut self) -> Result<bool, WorkloadError> {
        Ok(self.is_drained() && matches!(&self.source, RequestSource::Trace(trace) if trace.is_over()))
    }

    fn work_until(&mut self, deadline_ns: u64, clock: &dyn Clock) -> Result<(), WorkloadError> {
        let mut now_ns = clock.now_ns();
        while now_ns < deadline_ns {
            self.complete()?;
            if self.is_draining && self.is_drained() || self.is_over()? {
                return Ok(());
            }
            let next_ns = self.fill(now_ns, deadline_ns, clock);
            now_ns = self.wait(now_ns, next_ns, clock)?;
        }
        Ok(())
    }

    fn check_change(&mut self, changes: &Settings) -> Result<DrainMode, String> {
        let checked = self.resolve(changes).map_err(|error| error.to_string())?;
        self.is_draining = self.must_drain(&checked.settings);
        self.checked = Some(checked);
        Ok(if self.is_draining { DrainMode::Fully } else { DrainMode::None })
    }

    /// Opens a new backend where its shape changes; the old one stays if that fails.
    fn apply_change(&mut self, now_ns: u64) -> Result<ChangeOutcome, WorkloadError> {
        let Some(CheckedChange { changes, settings, script }) = self.checked.take() else {
            return Ok(ChangeOutcome::Refused("no change was checked".to_owned()));
        };
        if std::mem::take(&mut self.is_draining) {
            match (self.open)(&settings) {
                Ok(backend) => self.in_flight = InFlight::new(backend, self.files.engine, settings.iodepth),
                Err(error) => return Ok(ChangeOutcome::Refused(error.to_string())),
            }
        }
        match &mut self.source {
            RequestSource::Pattern(pattern) => pattern.change(&settings),
            RequestSource::Trace(trace) => trace.change(settings.replay.factor.unwrap_or(1.0), now_ns),
        }
        if settings.rate != self.settings.rate {
            self.bucket = settings.rate.map(|rate| TokenBucket::new(rate, now_ns));
        }
        self.settings = settings;
        Ok(ChangeOutcome::Applied { settings: values_of(&self.settings, &changes), counts: None, script })
    }

    fn take_counts(&mut self, _: u64) -> Option<SampleCounts> {
        Some(self.counts.take(self.in_flight.engine_state()))
    }
}

/// Refuses settings that write into files which may only be read.
pub(super) fn may_write(settings: &IoSettings, may_write: bool) -> Result<(), SettingError> {
    if may_write || settings.write_ratio == 0.0 {
        return Ok(());
    }
    let wanted =
        "the file is read-only, because Manometer did not create it: write 0, name a new file, or allow overwriting";
    Err(SettingError::new("write_ratio", settings.write_ratio, wanted))
}
