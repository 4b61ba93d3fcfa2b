//! The three ways to keep requests in flight, behind the same few verbs.

mod io_uring;
mod libaio;
mod posix;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;

use super::buffers::Buffers;
use super::{FileError, FileSet, IoEngine};

/// The most requests in flight at once.
pub const MAX_DEPTH: u32 = 1024;

/// The most memory that the requests in flight may hold.
pub const MAX_BUFFER_BYTES: u64 = 1 << 30;

impl IoEngine {
    /// Whether this host allows it.
    ///
    /// # Errors
    /// What the kernel answers where it does not.
    pub fn probe(self) -> io::Result<()> {
        match self {
            Self::Posix => Ok(()),
            Self::Libaio => libaio::probe(),
            Self::IoUring => io_uring::probe(),
        }
    }
}

/// The first of [`IoEngine::ALL`] that this host allows; `posix` always works.
pub fn best_available() -> IoEngine {
    IoEngine::ALL.into_iter().find(|engine| engine.probe().is_ok()).unwrap_or(IoEngine::Posix)
}

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoOperation {
    /// Reads into its slot.
    Read,
    /// Writes from its slot.
    Write,
    /// Makes the file's finished writes durable (`fdatasync`).
    Sync,
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submission {
    /// Its slot: where its bytes are, and how its completion is known.
    pub slot: u32,
    /// What it does.
    pub operation: IoOperation,
    /// The file, by its place in the [`FileSet`].
    pub file: u32,
    /// Where in the file it begins.
    pub offset: u64,
    /// Where in the slot it begins: not 0 for the rest of a request that was cut short.
    pub skip: u32,
    /// How many bytes.
    pub length: u32,
}

/// A request that the kernel has finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The request's slot, ours again.
    pub slot: u32,
    /// Bytes moved, or a negated error number.
    pub result: i32,
}

impl Completion {
    /// Whether the request is to be tried again.
    pub fn should_retry(&self) -> bool {
        matches!(-self.result, libc::EAGAIN | libc::EINTR)
    }
}

/// How a backend is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackendOptions {
    /// How requests reach the kernel.
    pub engine: IoEngine,
    /// How many slots: requests in flight at once.
    pub depth: u32,
    /// The longest request.
    pub slot_bytes: u32,
    /// Whether the files are opened for writing.
    pub write: bool,
    /// Whether requests go past the page cache.
    pub direct: bool,
    /// Whether each write waits until it is durable.
    pub dsync: bool,
}

/// A way to keep requests in flight. It does not read the clock: the caller passes the time.
pub trait IoBackend {
    /// The bytes of a slot that is not in flight.
    ///
    /// # Panics
    /// The slot is in flight.
    fn slot_mut(&mut self, slot: u32) -> &mut [u8];

    /// Puts a request in the queue; it leaves with the next [`Self::wait`] at the latest.
    fn queue(&mut self, request: Submission);

    /// Sends what is queued, waits until a request has finished or `deadline_ns` has come, and adds the
    /// finished ones to `finished`. May return early and empty-handed. Times are `CLOCK_MONOTONIC`.
    ///
    /// # Errors
    /// The kernel refuses to take or to wait for requests.
    fn wait(&mut self, now_ns: u64, deadline_ns: u64, finished: &mut Vec<Completion>) -> io::Result<()>;

    /// What the kernel agreed to beyond the bare requests, for the record.
    fn features(&self) -> Vec<&'static str>;
}

/// Opens the files and sets up a backend on them.
///
/// # Errors
/// A file cannot be opened so, or the host does not allow the engine.
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
    })
}

/// When queued requests leave before the next wait.
///
/// Where many requests finish at once, as behind a virtual disk, sending all their successors at once would
/// leave the device idle while they are made. So they leave in batches that double: the device begins
/// early, and the number of system calls stays small. The first leaves alone: a device at its limit notices each
/// moment in which fewer requests wait for it.
#[derive(Debug)]
struct Departures {
    queued: u32,
    batch: u32,
}

impl Departures {
    const FIRST_BATCH: u32 = 1;

    /// Counts a queued request, and says whether the batch is full and shall leave.
    fn is_full(&mut self) -> bool {
        self.queued += 1;
        let full = self.queued == self.batch;
        if full {
            (self.queued, self.batch) = (0, self.batch.saturating_mul(2));
        }
        full
    }

    /// Begins anew: everything has left.
    fn begin(&mut self) {
        *self = Self::default();
    }
}

impl Default for Departures {
    fn default() -> Self {
        Self { queued: 0, batch: Self::FIRST_BATCH }
    }
}

/// The flags of one write.
fn write_flags(dsync: bool) -> i32 {
    if dsync { libc::RWF_DSYNC } else { 0 }
}
