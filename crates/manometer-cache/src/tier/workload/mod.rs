//! The load on an arrangement: threads that perform one operation at a time.

mod file_layout;
mod file_set;
mod oltp;
mod random;
mod streams;
mod trace;

use manometer_measure::Span;
use serde::Deserialize;

pub use file_set::{FileSetSettings, Fileserver, Varmail};
pub use oltp::{Oltp, OltpSettings};
pub use random::{RandomIo, RandomSettings};
pub use trace::{BlockOperation, TraceReplay, TraceRequest, TraceRequests, TraceSettings, read as read_trace};

use super::host::Host;
use crate::CacheError;

/// The next step of a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadStep {
    /// The addresses of the metadata pages that it changes.
    pub metadata: [Option<u64>; 4],
    /// CPU time in addition to that of every operation.
    pub think_ns: u64,
    /// Its stream of requests, if it is not the thread's own.
    pub stream: Option<u32>,
    /// When it was due, if that is not when its thread reached it.
    pub due_ns: Option<u64>,
    /// The action.
    pub action: StepAction,
}

/// An action on files.
#[derive(Debug, Clone, PartialEq)]
pub enum StepAction {
    /// Changes metadata only.
    Change,
    /// Reads.
    Read(IoRange),
    /// Reads metadata.
    Look(u64),
    /// Writes; through the page cache it completes before write-back.
    Write(IoRange),
    /// Writes several ranges at once, bypassing the page cache and through to the media.
    Batch(Vec<IoRange>),
    /// Waits until a range and the metadata are written back.
    Sync(IoRange),
    /// Discards the whole pages of a range.
    Discard(IoRange),
    /// Waits until [`StepGenerator::done`] releases it.
    Wait,
    /// Waits until a time, in nanoseconds.
    WaitUntil(u64),
    /// Ends the thread.
    End,
}

/// A range of storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoRange {
    /// The start address.
    pub offset: u64,
    /// The length.
    pub bytes: u64,
    /// The bytes of it that were requested.
    pub requested_bytes: u64,
    /// Whether it bypasses the page cache.
    pub is_direct: bool,
    /// Whether it completes only when the data is on the media.
    pub is_through: bool,
}

impl IoRange {
    /// A range accessed through the page cache.
    pub fn new(offset: u64, bytes: u64) -> Self {
        Self { offset, bytes, requested_bytes: bytes, is_direct: false, is_through: false }
    }
}

impl WorkloadStep {
    /// A step without metadata changes.
    pub fn plain(action: StepAction) -> Self {
        Self { metadata: [None; 4], think_ns: 0, stream: None, due_ns: None, action }
    }
}

/// Generates the steps of threads.
pub trait StepGenerator {
    /// The number of threads.
    fn threads(&self) -> u32;

    /// The number of request streams: each thread's own by default.
    fn streams(&self) -> u32 {
        self.threads()
    }

    /// The next step of a thread.
    fn next(&mut self, thread: u32) -> WorkloadStep;

    /// The share that is done, for a workload that ends by itself.
    fn progress(&self) -> f64 {
        0.0
    }

    /// Called when the measurement starts.
    fn measured(&mut self) {}

    /// Called when a thread has completed its step; adds waiting threads that continue to `ready`.
    fn done(&mut self, _thread: u32, _ready: &mut Vec<u32>) {}
}

/// The settings of a workload.
#[derive(Debug, Clone, Deserialize)]
pub struct TierWorkloadSettings {
    /// The warm-up time.
    #[serde(default)]
    pub warmup: Span,
    /// The measured time, unless the workload ends by itself.
    pub duration: Option<Span>,
    /// The kind of workload.
    #[serde(flatten)]
    pub kind: TierWorkloadKind,
}

/// The kind of workload.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TierWorkloadKind {
    /// Random reads and writes of one size.
    Random(RandomSettings),
    /// A file server.
    Fileserver(FileSetSettings),
    /// A mail server.
    Varmail(FileSetSettings),
    /// A database.
    Oltp(OltpSettings),
}

impl TierWorkloadKind {
    /// Creates the request generator on a host's storage, with sizes divided by `scale`.
    ///
    /// # Errors
    /// It does not fit the storage, or a setting is invalid.
    pub fn program(&self, host: &Host<'_>, scale: u64, seed: u64) -> Result<Box<dyn StepGenerator>, CacheError> {
        Ok(match self {
            Self::Random(settings) => Box::new(RandomIo::new(settings, host, scale, seed)?),
            Self::Fileserver(settings) => Box::new(Fileserver::new(settings, host, scale, seed)?),
            Self::Varmail(settings) => Box::new(Varmail::new(settings, host, scale, seed)?),
            Self::Oltp(settings) => Box::new(Oltp::new(settings, host, scale, seed)?),
        })
    }
}

/// The most threads of a workload.
const THREADS_MAX: u64 = 65_536;

/// The error of too many threads.
fn too_many_threads() -> CacheError {
    CacheError::Invalid(format!("a workload has at most {THREADS_MAX} threads"))
}

/// The error of data that do not fit.
fn too_large(what: &str, needed: u64, there: u64) -> CacheError {
    CacheError::Invalid(format!(
        "{what} takes {needed} bytes, and the origin has {there}: make the origin larger, or the workload smaller"
    ))
}
