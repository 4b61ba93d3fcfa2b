//! The interface between a workload and the session that drives it.
//!
//! A workload's `run` prepares its data, reports that through [`Driver::progress`], and passes itself to
//! [`Driver::drive`]. The driver owns the sample tick, the timetable, the control lines and every message. The workload
//! implements [`Workload`] only.

use std::ops::ControlFlow;

use manometer_measure::plan::Settings;
use manometer_measure::{Clock, ReplayOutcome};
use manometer_target::engine::EngineError;
use manometer_target::engine::StateSampler;
use manometer_target::engine::directory::{DatabaseDirectory, DatabaseReuse};
use manometer_target::engine::external::ExternalCleanup;
use rapidhash::v3::rapidhash_v3;
use serde::{Deserialize, Serialize};

use crate::error::WorkloadError;
use crate::sample::{Sample, SampleCounts};
use crate::script::ScriptStep;

/// What a session drives: a prepared workload. Times are nanoseconds of the session's clock.
pub trait Workload {
    /// When samples are due.
    fn sampling(&self) -> SamplingMode;

    /// Starts sending requests.
    ///
    /// # Errors
    /// The workload failed.
    fn go(&mut self, now_ns: u64) -> Result<(), WorkloadError>;

    /// Stops sending requests until the next `go`; those in flight continue.
    ///
    /// # Errors
    /// The workload failed.
    fn pause(&mut self, now_ns: u64) -> Result<(), WorkloadError>;

    /// Whether no request is in flight.
    fn is_drained(&self) -> bool {
        true
    }

    /// Whether it has ended by itself; it is then paused and not used again.
    ///
    /// # Errors
    /// The workload failed.
    fn is_over(&mut self) -> Result<bool, WorkloadError>;

    /// Works until `deadline_ns` at most; by default it only waits, for workloads with their own threads.
    ///
    /// # Errors
    /// The workload failed.
    fn work_until(&mut self, deadline_ns: u64, clock: &dyn Clock) -> Result<(), WorkloadError> {
        clock.sleep_until(deadline_ns);
        Ok(())
    }

    /// Checks `changes` against the settings in force and keeps the result for [`Self::apply_change`]. Where requests in
    /// flight have to drain first, it sends no more until then.
    ///
    /// # Errors
    /// Why the change is refused; nothing has changed.
    fn check_change(&mut self, changes: &Settings) -> Result<DrainMode, String>;

    /// Puts the change that was checked last into force.
    ///
    /// # Errors
    /// The workload failed.
    fn apply_change(&mut self, now_ns: u64) -> Result<ChangeOutcome, WorkloadError>;

    /// The counts since the last call; nothing for a workload that emits its own samples.
    fn take_counts(&mut self, now_ns: u64) -> Option<SampleCounts>;

    /// The events since the last call.
    fn take_events(&mut self) -> Vec<WorkloadEvent> {
        Vec::new()
    }
}

/// When samples of a workload are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SamplingMode {
    /// On every tick, with zero counts in a pause.
    Always,
    /// On every tick between `go` and pause, and at the pause.
    Running,
    /// Whenever the workload emits one.
    Own,
}

/// How far requests in flight have to drain before a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrainMode {
    /// Not at all.
    None,
    /// For at most a second: a request that is held up counts when it ends.
    Briefly,
    /// Completely, however long that takes.
    Fully,
}

/// The outcome of a change.
#[derive(Debug, PartialEq)]
pub enum ChangeOutcome {
    /// It is in force.
    Applied {
        /// The settings that changed, with their new values.
        settings: Settings,
        /// The counts up to it, where a sample ends there.
        counts: Option<SampleCounts>,
        /// The new timetable, where that changed.
        script: Option<Vec<ScriptStep>>,
    },
    /// It could not be put into force, for this reason; everything is as it was.
    Refused(String),
}

/// An event that a workload reports.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkloadEvent {
    /// A sample of its own interval.
    Sample(Sample),
    /// A note in the recording, for people.
    Note {
        /// When.
        t_ns: u64,
        /// The text.
        text: String,
    },
    /// The outcome of a replay.
    Replayed {
        /// When.
        t_ns: u64,
        /// The outcome.
        replayed: Box<ReplayOutcome>,
    },
}

/// A workload that is prepared.
pub struct PreparedWorkload<'a> {
    /// Facts it found and chose: its I/O engine, the engine's version and options.
    pub facts: Settings,
    /// The sampler of its engine's state, if any.
    pub state: Option<Box<dyn StateSampler + 'a>>,
    /// Its timetable.
    pub script: Vec<ScriptStep>,
}

/// Drives workloads.
pub trait Driver {
    /// Reports that `done` of `total` of `activity` is prepared; breaks where the workload is to stop.
    fn progress(&mut self, activity: &str, done: u64, total: u64) -> ControlFlow<()>;

    /// Drives `workload` until it is stopped, over, or fails.
    ///
    /// # Errors
    /// The workload failed.
    fn drive(&mut self, ready: PreparedWorkload<'_>, workload: &mut dyn Workload) -> Result<(), WorkloadError>;

    /// Passes an event on.
    fn emit(&mut self, event: WorkloadEvent);
}

/// Name, folder and seed of a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadContext {
    /// The workload's name; its data lie in a folder of that name.
    pub name: String,
    /// The folder below which the workload may write, and nowhere else.
    pub directory: std::path::PathBuf,
    /// What may be done with its own existing data.
    pub existing: DatabaseReuse,
    /// The seed of every random choice.
    pub seed: u64,
    /// The client that this process is, where several share the workload.
    pub share: Option<ClientShare>,
}

/// One of several clients that share a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientShare {
    /// Its number, from 0.
    pub part: u32,
    /// The number of clients.
    pub of: u32,
}

impl WorkloadContext {
    /// Whether this process loads the data; the first of several clients does it for all.
    pub(crate) fn loads(&self) -> bool {
        self.share.is_none_or(|share| share.part == 0)
    }

    /// The seed of the requests: that of the data, and another one for each further client.
    pub(crate) fn request_seed(&self) -> u64 {
        let part = self.share.map_or(0, |share| share.part);
        if part == 0 { self.seed } else { self.seed ^ rapidhash_v3(&part.to_le_bytes()) }
    }

    /// Where the first of constant arrivals lies, in gaps between arrivals: the clients of a rate take turns, so that
    /// together they send at equal distances.
    pub(crate) fn first_arrival(&self) -> f64 {
        self.share.map_or(0.0, |share| f64::from(share.part) / f64::from(share.of))
    }

    /// The seed of the workload's threads: their random numbers differ from those of another workload with the same seed.
    pub(crate) fn thread_seed(&self) -> u64 {
        self.seed ^ rapidhash_v3(self.name.as_bytes())
    }

    /// The workload's own folder.
    pub fn folder(&self) -> std::path::PathBuf {
        self.directory.join(&self.name)
    }
}

/// The data that a workload leaves behind.
#[derive(Debug, Default)]
pub struct WorkloadData {
    /// Its folder, locked until dropped.
    pub database: Option<DatabaseDirectory>,
    /// Its data in an external server that may be emptied.
    pub external: Option<ExternalCleanup>,
}

impl WorkloadData {
    /// Data in a folder alone.
    pub(crate) fn in_folder(folder: DatabaseDirectory) -> Self {
        Self { database: Some(folder), external: None }
    }

    /// Removes it.
    ///
    /// # Errors
    /// The folder cannot be removed, or the server refuses to be emptied.
    pub fn remove(self) -> Result<(), EngineError> {
        self.database.map_or(Ok(()), DatabaseDirectory::remove)?;
        self.external.map_or(Ok(()), ExternalCleanup::remove)
    }
}

/// Reports how far a preparation is, and remembers whether it was stopped.
pub(crate) struct Progress<'a> {
    pub(crate) driver: &'a mut dyn Driver,
    activity: &'static str,
    /// Whether the workload is to stop.
    pub(crate) is_stopped: bool,
}

impl<'a> Progress<'a> {
    /// The progress of `activity`, such as `loading`.
    pub(crate) fn new(driver: &'a mut dyn Driver, activity: &'static str) -> Self {
        Self { driver, activity, is_stopped: false }
    }

    /// Reports that `done` of `total` is prepared; breaks where the preparation is to stop.
    pub(crate) fn report(&mut self, done: u64, total: u64) -> ControlFlow<()> {
        if !self.is_stopped {
            self.is_stopped = self.driver.progress(self.activity, done, total).is_break();
        }
        if self.is_stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! A driver for tests of single workloads.

    use manometer_measure::MonotonicClock;

    use super::*;

    /// Runs a workload to its end and drops its events.
    pub(crate) struct RunToEnd;

    impl Driver for RunToEnd {
        fn progress(&mut self, _: &str, _: u64, _: u64) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }

        fn drive(&mut self, _: PreparedWorkload<'_>, workload: &mut dyn Workload) -> Result<(), WorkloadError> {
            workload.go(MonotonicClock.now_ns())?;
            while !workload.is_over()? {
                workload.work_until(MonotonicClock.now_ns() + 1_000_000, &MonotonicClock)?;
            }
            workload.pause(MonotonicClock.now_ns())
        }

        fn emit(&mut self, _: WorkloadEvent) {}
    }
}
