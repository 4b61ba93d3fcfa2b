//! The context of all threads of a workload; starts, times and counts each operation.

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use manometer_measure::{Clock, Rate};

use super::counts::FileCounts;
use super::pace::Pace;
use super::thread_gate::ThreadGate;
use super::{FileOperation, FilesError};

/// Why a thread ends.
#[derive(Debug)]
pub(crate) enum ThreadEnd {
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
pub(crate) struct ThreadContext<'a> {
    pub(crate) seed: u64,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) gate: ThreadGate,
    pub(crate) pace: Pace,
    pub(crate) counts: FileCounts,
    /// The first error of a thread.
    failed: Mutex<Option<FilesError>>,
}

impl<'a> ThreadContext<'a> {
    /// For threads counted by `counts`, of which the first `active` keep `rate` together; all wait.
    pub(crate) fn new(
        (active, rate): (u32, Option<Rate>),
        seed: u64,
        clock: &'a dyn Clock,
        counts: FileCounts,
    ) -> Self {
        Self {
            seed,
            clock,
            gate: ThreadGate::new(active),
            pace: Pace::new(rate, clock.now_ns()),
            counts,
            failed: Mutex::new(None),
        }
    }

    /// Waits until the thread may start an operation.
    pub(crate) fn await_operation(&self) -> Result<(), ThreadEnd> {
        if self.gate.await_go() && self.pace.wait(self.clock, &self.gate) { Ok(()) } else { Err(ThreadEnd::Stopped) }
    }

    /// Calls `act`, which does `operation` on `path` and returns the bytes that it moved, and counts it for the thread
    /// `index`. Nothing where the file does not exist.
    pub(crate) fn attempt<T>(
        &self,
        index: u32,
        (operation, path): (FileOperation, &Path),
        act: impl FnOnce() -> io::Result<(T, u64)>,
    ) -> Result<Option<T>, ThreadEnd> {
        let start = self.clock.ticks();
        match act() {
            Ok((done, bytes)) => {
                self.counts.count(index, operation, bytes, self.clock.elapsed_ns(start, self.clock.ticks()));
                Ok(Some(done))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && operation != FileOperation::Create => {
                self.counts.miss(index, operation);
                Ok(None)
            }
            Err(error) => Err(FilesError::of(operation.name(), path, error).into()),
        }
    }

    /// Stops all threads because of `error`.
    pub(crate) fn fail(&self, error: FilesError) {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.gate.stop();
    }

    /// The first error of a thread, once all have ended.
    pub(crate) fn into_failed(self) -> Option<FilesError> {
        self.failed.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
