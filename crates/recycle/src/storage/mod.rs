//! What a region needs of its file. Tests put a faulty one beneath it.

use std::io::{self, IoSlice, IoSliceMut};

mod direct;
mod ring;

pub use direct::{FileStorage, open_file};

/// A file, as a region uses it.
pub trait Storage: Send + Sync {
    /// The file's length in bytes.
    ///
    /// # Errors
    /// The file cannot be examined.
    fn len(&self) -> io::Result<u64>;

    /// Whether the file is empty.
    ///
    /// # Errors
    /// The file cannot be examined.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Changes the file's length; new bytes are zero.
    ///
    /// # Errors
    /// The file cannot have this length.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Reads whole pages from `offset` on, into one buffer after the other. Returns the bytes read: fewer only where
    /// the file ends.
    ///
    /// # Errors
    /// The device failed.
    fn read(&self, offset: u64, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize>;

    /// Writes all bytes of the buffers from `offset` on. After an error any of them may be in the file.
    ///
    /// # Errors
    /// The device failed, or is full.
    fn write(&self, offset: u64, buffers: &[IoSlice<'_>]) -> io::Result<()>;

    /// Writes several runs, at once where possible; a result for each, in order.
    fn write_runs(&self, runs: &[Run<'_>]) -> Vec<io::Result<()>> {
        runs.iter().map(|run| self.write(run.offset, run.buffers)).collect()
    }

    /// Makes all that was written durable.
    ///
    /// # Errors
    /// The device failed; any of what was written since the last success may be lost.
    fn sync(&self) -> io::Result<()>;
}

/// Bytes that follow each other in the file.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Where they begin.
    pub offset: u64,
    /// The bytes, one buffer after the other.
    pub buffers: &'a [IoSlice<'a>],
}

impl Run<'_> {
    /// How many bytes.
    pub fn bytes(&self) -> usize {
        self.buffers.iter().map(|buffer| buffer.len()).sum()
    }
}
