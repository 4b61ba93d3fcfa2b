//! Appending to a log.

use std::sync::Arc;

use super::frame::{self, HEADER_BYTES, LogKind};
use crate::error::{Error, Result};
use crate::storage::{File, Storage};

/// The capacity of the buffer that is kept between commits.
const BUFFER_BYTES_MAX: usize = 1 << 20;

/// Appends records to a log.
///
/// After a failed write or sync the content of the file is not known: nothing more may be appended.
pub(crate) struct LogWriter {
    file: Arc<dyn File>,
    name: String,
    salt: u32,
    /// Records since the last commit.
    buffer: Vec<u8>,
    committed: u64,
    synced: u64,
}

impl LogWriter {
    /// Creates a log. Its name is durable after [`Storage::sync_directory`], its header after [`LogWriter::sync`].
    pub fn create(storage: &dyn Storage, kind: LogKind, number: u64) -> Result<Self> {
        Self::create_as(storage, kind, number, kind.name(number))
    }

    /// Creates a log under another file name.
    pub fn create_as(storage: &dyn Storage, kind: LogKind, number: u64, name: String) -> Result<Self> {
        let file = storage.create(&name).map_err(Error::io("creating", &name))?;
        Self::begin(file, name, kind, number)
    }

    fn begin(file: Arc<dyn File>, name: String, kind: LogKind, number: u64) -> Result<Self> {
        let header = frame::header(kind, number);
        file.append(&header).map_err(Error::io("writing", &name))?;
        let salt = frame::salt(kind, number);
        Ok(Self { file, name, salt, buffer: Vec::new(), committed: HEADER_BYTES as u64, synced: 0 })
    }

    /// Adds a record to the next commit. Returns its offset in the file.
    pub fn append(&mut self, payload: &[u8]) -> Result<u64> {
        if payload.is_empty() {
            return Err(Error::Invalid {
                problem: "a log record must have at least one byte; this one is empty".to_owned(),
            });
        }
        let offset = self.len();
        frame::put(&mut self.buffer, self.salt, payload);
        Ok(offset)
    }

    /// Writes the added records at once. They are durable after [`LogWriter::sync`].
    pub fn commit(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        if self.synced == self.committed {
            frame::mark_synced(&mut self.buffer);
        }
        self.file.append(&self.buffer).map_err(Error::io("writing", &self.name))?;
        self.committed += self.buffer.len() as u64;
        self.buffer.clear();
        self.buffer.shrink_to(BUFFER_BYTES_MAX);
        Ok(())
    }

    /// Makes all commits durable.
    pub fn sync(&mut self) -> Result<()> {
        self.file.sync().map_err(Error::io("syncing", &self.name))?;
        self.synced = self.committed;
        Ok(())
    }

    /// The file, which outlives the writer as a run.
    pub fn file(&self) -> &Arc<dyn File> {
        &self.file
    }

    /// The length of the file after the next commit.
    pub fn len(&self) -> u64 {
        self.committed + self.buffer.len() as u64
    }

    /// The length of the file.
    pub fn committed(&self) -> u64 {
        self.committed
    }

    /// The file name.
    pub fn name(&self) -> &str {
        &self.name
    }
}
