//! The ways to keep requests in flight, behind one interface.

mod io_uring;
mod libaio;
mod mapped;
mod posix;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;

use super::buffers::Buffers;
use super::{FileError, FileSet, IoEngine};

/// The largest queue depth.
pub const MAX_DEPTH: u32 = 1024;

/// The most memory of all requests in flight, in bytes.
pub const MAX_BUFFER_BYTES: u64 = 1 << 30;

impl IoEngine {
    /// Checks that this host allows the engine.
    ///
    /// # Errors
    /// The kernel's answer if it does not.
    pub fn probe(self) -> io::Result<()> {
        match self {
            Self::Posix | Self::Mmap | Self::Recycle => Ok(()),
            Self::RecycleMap => mapped::probe_mapping(),
            Self::Libaio => libaio::probe(),
            Self::IoUring => io_uring::probe(),
        }
    }
}

/// The first of [`IoEngine::ALL`] that this host allows; `posix` always works.
pub fn best_available() -> IoEngine {
    let usual = IoEngine::ALL.into_iter().filter(|engine| !engine.is_mapped());
    usual.into_iter().find(|engine| engine.probe().is_ok()).unwrap_or(IoEngine::Posix)
}

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoOperation {
    /// Reads into its slot.
    Read,
    /// Writes from its slot.
    Write,
    /// Persists the completed writes of the file (`fdatasync`).
    Sync,
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submission {
    /// Its slot, which holds its bytes and identifies its completion.
    pub slot: u32,
    /// The operation.
    pub operation: IoOperation,
    /// The file's index in the [`FileSet`].
    pub file: u32,
    /// The offset in the file, in bytes.
    pub offset: u64,
    /// The offset in the slot, in bytes; not 0 for the rest of a short request.
    pub skip: u32,
    /// The length in bytes.
    pub length: u32,
}

/// A completed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The request's slot, which may be used again.
    pub slot: u32,
    /// Bytes transferred, or a negated error number.
    pub result: i32,
}

impl Completion {
    /// Whether the request should be retried.
    pub fn should_retry(&self) -> bool {
        matches!(-self.result, libc::EAGAIN | libc::EINTR)
    }
}

/// The options of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackendOptions {
    /// How requests reach the kernel.
    pub engine: IoEngine,
    /// The number of slots: the queue depth.
    pub depth: u32,
    /// The longest request in bytes.
    pub slot_bytes: u32,
    /// Whether the files are opened for writing.
    pub write: bool,
    /// Whether requests bypass the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Whether each write waits until it is durable.
    pub dsync: bool,
    /// Most bytes of the files in memory, for engines that hold them.
    pub memory_bytes: u64,
}

/// A backend that keeps requests in flight. It does not read the clock: the caller passes the time.
pub trait IoBackend {
    /// The bytes of a slot that is not in flight.
    ///
    /// # Panics
    /// The slot is in flight.
    fn slot_mut(&mut self, slot: u32) -> &mut [u8];

    /// Queues a request; it is submitted by the next [`Self::wait`] at the latest.
    fn queue(&mut self, request: Submission);

    /// Submits the queued requests, waits for a completion or until `deadline_ns`, and appends the completions to
    /// `finished`. May return early without any. Times are `CLOCK_MONOTONIC`.
    ///
    /// # Errors
    /// The kernel refuses to accept or to wait for requests.
    fn wait(&mut self, now_ns: u64, deadline_ns: u64, finished: &mut Vec<Completion>) -> io::Result<()>;

    /// Optional features in use, for the recording.
    fn features(&self) -> Vec<&'static str>;

    /// What the engine counted since the last call, by the names of [`IoEngine::state`].
    fn state(&mut self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// Opens the files and a backend for them.
///
/// # Errors
/// A file cannot be opened this way, or the host does not allow the engine.
pub fn open(files: &FileSet, options: &BackendOptions) -> Result<Box<dyn IoBackend>, FileError> {
    let opened = files.open(options.write, options.direct)?;
    let unavailable = |source| FileError::EngineUnavailable { engine: options.engine, source };
    let buffers = Buffers::new(options.depth, options.slot_bytes as usize).map_err(unavailable)?;
    build(opened, buffers, options).map_err(unavailable)
}

fn build(files: Vec<File>, buffers: Buffers, options: &BackendOptions) -> io::Result<Box<dyn IoBackend>> {
    Ok(match options.engine {
        IoEngine::Posix => Box::new(posix::Posix::new(files, buffers, options.dsync)),
        IoEngine::Libaio => Box::new(libaio::Libaio::new(files, buffers, options)?),
        IoEngine::IoUring => Box::new(io_uring::Uring::new(files, buffers, options)?),
        IoEngine::Mmap | IoEngine::Recycle | IoEngine::RecycleMap => {
            Box::new(mapped::Mapped::new(files, buffers, options)?)
        }
    })
}

/// Decides when queued requests are submitted before the next wait.
///
/// Where many requests complete at once, as behind a virtual disk, submitting all their successors at once would leave
/// the device idle while they are generated. So they are submitted in batches that double: the device starts early, and
/// the number of system calls stays small. The first batch is one request: a device at its limit suffers from every
/// moment with fewer requests queued.
#[derive(Debug)]
struct SubmissionBatch {
    queued: u32,
    batch: u32,
}

impl SubmissionBatch {
    const FIRST_BATCH: u32 = 1;

    /// Counts a queued request. Returns whether the batch is full and should be submitted.
    fn is_full(&mut self) -> bool {
        self.queued += 1;
        let full = self.queued == self.batch;
        if full {
            (self.queued, self.batch) = (0, self.batch.saturating_mul(2));
        }
        full
    }

    /// Starts again after everything was submitted.
    fn begin(&mut self) {
        *self = Self::default();
    }
}

impl Default for SubmissionBatch {
    fn default() -> Self {
        Self { queued: 0, batch: Self::FIRST_BATCH }
    }
}

/// The flags of one write.
fn write_flags(dsync: bool) -> i32 {
    if dsync { libc::RWF_DSYNC } else { 0 }
}
