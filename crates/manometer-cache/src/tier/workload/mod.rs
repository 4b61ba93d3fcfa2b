//! The load on an arrangement: threads that do one operation after the other.

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
pub use trace::{TraceOperation, TraceReplay, TraceRequest, TraceRequests, TraceSettings, read as read_trace};

use super::host::Host;
use crate::CacheError;

/// What a thread does next.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadStep {
    /// Pages of metadata that it changes, by where they are.
    pub metadata: [Option<u64>; 4],
    /// What it takes of a core beside what every operation does.
    pub think_ns: u64,
    /// Which stream of requests it belongs to, where that is not its thread's own.
    pub stream: Option<u32>,
    /// When it was to come, where that is not when its thread is there.
    pub due_ns: Option<u64>,
    /// What it does then.
    pub action: StepAction,
}

/// What is done to files.
#[derive(Debug, Clone, PartialEq)]
pub enum StepAction {
    /// Nothing but changing metadata.
    Change,
    /// Reads.
    Read(IoRange),
    /// Looks at metadata.
    Look(u64),
    /// Writes; through the page cache it is done before that is written back.
    Write(IoRange),
    /// Writes several stretches at once, past the page cache and onto the media.
    Batch(Vec<IoRange>),
    /// Waits until a stretch and the metadata are written back.
    Sync(IoRange),
    /// Drops the whole pages of a stretch that is no longer needed.
    Discard(IoRange),
    /// Waits until [`Program::done`] says so.
    Wait,
    /// Waits until a moment, in nanoseconds.
    WaitUntil(u64),
    /// Ends.
    End,
}

/// A stretch of storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoRange {
    /// Where it begins.
    pub offset: u64,
    /// How long it is.
    pub bytes: u64,
    /// How much of that was requested.
    pub requested_bytes: u64,
    /// Whether it goes past the page cache.
    pub is_direct: bool,
    /// Whether it is not done before it is on the media.
    pub is_through: bool,
}

impl IoRange {
    /// A stretch that goes through the page cache.
    pub fn new(offset: u64, bytes: u64) -> Self {
        Self { offset, bytes, requested_bytes: bytes, is_direct: false, is_through: false }
    }
}

impl WorkloadStep {
    /// A step that changes no metadata.
    pub fn plain(action: StepAction) -> Self {
        Self { metadata: [None; 4], think_ns: 0, stream: None, due_ns: None, action }
    }
}

/// What threads do.
pub trait RequestGenerator {
    /// How many threads there are.
    fn threads(&self) -> u32;

    /// How many streams of requests there are: each thread's own, unless steps name others.
    fn streams(&self) -> u32 {
        self.threads()
    }

    /// What a thread does next.
    fn next(&mut self, thread: u32) -> WorkloadStep;

    /// Which share of it is done, where it ends by itself.
    fn progress(&self) -> f64 {
        0.0
    }

    /// It is measured from now on.
    fn measured(&mut self) {}

    /// A thread is done with its step: which of those that wait go on.
    fn done(&mut self, _thread: u32, _ready: &mut Vec<u32>) {}
}

/// A workload as a file describes it.
#[derive(Debug, Clone, Deserialize)]
pub struct WorkloadSettings {
    /// How long it runs before it is measured.
    #[serde(default)]
    pub warmup: Span,
    /// How long it is measured, where it does not end by itself.
    pub duration: Option<Span>,
    /// What it does.
    #[serde(flatten)]
    pub kind: WorkloadKind,
}

/// What a workload does.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WorkloadKind {
    /// Random reads and writes of one size.
    Random(RandomSettings),
    /// A file server.
    Fileserver(FileSetSettings),
    /// A mail server.
    Varmail(FileSetSettings),
    /// A database.
    Oltp(OltpSettings),
}

impl WorkloadKind {
    /// What it does, on storage with a host, its sizes divided by `scale`.
    ///
    /// # Errors
    /// It does not fit the storage, or something about it is wrong.
    pub fn program(&self, host: &Host<'_>, scale: u64, seed: u64) -> Result<Box<dyn RequestGenerator>, CacheError> {
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

/// Refuses more.
fn too_many_threads() -> CacheError {
    CacheError::Invalid(format!("a workload has at most {THREADS_MAX} threads"))
}

/// Refuses what does not fit.
fn too_large(what: &str, needed: u64, there: u64) -> CacheError {
    CacheError::Invalid(format!(
        "{what} takes {needed} bytes, and the origin has {there}: make the origin larger, or the workload smaller"
    ))
}
