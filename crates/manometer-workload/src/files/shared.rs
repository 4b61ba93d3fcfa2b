//! The context of all threads of a workload; starts, times and counts each operation.

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use manometer_measure::Clock;

use super::FilesError;
use super::counts::FileCounts;
use super::operation::Operation;
use super::pace::Pace;
use super::plan::FilesPlan;
use super::thread_gate::ThreadGate;

/// Why a thread ends.
#[derive(Debug)]
pub(super) enum ThreadEnd {
    /// The workload was stopped.
    Stopped,
    /// It failed.
    Failed(FilesError),
}

impl From<FilesError> for ThreadEnd {
    fn from(error: FilesError) -> Self {
        Self::Failed(error)
    }
}

/// The context of all threads.
pub(super) struct Shared<'a> {
    pub(super) plan: &'a FilesPlan,
    pub(super) seed: u64,
    pub(super) clock: &'a dyn Clock,
    pub(super) gate: ThreadGate,
    pub(super) pace: Pace,
    pub(super) counts: FileCounts,
    /// The first error of a thread.
    failed: Mutex<Option<FilesError>>,
}

impl<'a> Shared<'a> {
    /// For at most `threads` threads, which wait.
    pub(super) fn new(plan: &'a FilesPlan, seed: u64, clock: &'a dyn Clock, threads: u32) -> Self {
        Self {
            plan,
            seed,
            clock,
            gate: ThreadGate::new(plan.threads),
            pace: Pace::new(plan.rate, clock.now_ns()),
            counts: FileCounts::new(threads),
            failed: Mutex::new(None),
        }
    }

    /// Waits until the thread may start an operation.
    pub(super) fn await_operation(&self) -> Result<(), ThreadEnd> {
        if self.gate.await_go() && self.pace.wait(self.clock, &self.gate) { Ok(()) } else { Err(ThreadEnd::Stopped) }
    }

    /// Calls `act`, which does `operation` on `path` and returns the bytes that it moved, and counts it for the thread
    /// `index`. Nothing where the file does not exist.
    pub(super) fn attempt<T>(
        &self,
        index: u32,
        (operation, path): (Operation, &Path),
        act: impl FnOnce() -> io::Result<(T, u64)>,
    ) -> Result<Option<T>, ThreadEnd> {
        let start = self.clock.ticks();
        match act() {
            Ok((done, bytes)) => {
                self.counts.count(index, operation, bytes, self.clock.elapsed_ns(start, self.clock.ticks()));
                Ok(Some(done))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && operation != Operation::Create => {
                self.counts.miss(index, operation);
                Ok(None)
            }
            Err(error) => Err(FilesError::of(operation.name(), path, error).into()),
        }
    }

    /// Stops all threads because of `error`.
    pub(super) fn fail(&self, error: FilesError) {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.gate.stop();
    }

    /// The first error of a thread, once all have ended.
    pub(super) fn into_failed(self) -> Option<FilesError> {
        self.failed.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
