//! Appends records to a log.

use std::sync::Arc;

use super::frame::{self, HEADER_BYTES, LogKind};
use crate::error::{Error, Result};
use crate::storage::{File, Storage};

/// Between commits no more than this is kept for the next one.
const BUFFER_BYTES_MAX: usize = 1 << 20;

/// Appends records to a log.
///
/// After a write or a sync has failed nobody knows what is in the file: nothing more may be written to it.
pub(crate) struct LogWriter {
    file: Arc<dyn File>,
    name: String,
    salt: u32,
    /// What was appended after the last commit.
    buffer: Vec<u8>,
    committed: u64,
    synced: u64,
}

impl LogWriter {
    /// Makes a log. Its name is durable after [`Storage::sync_names`], its header after [`LogWriter::sync`].
    pub fn create(storage: &dyn Storage, kind: LogKind, number: u64) -> Result<Self> {
        Self::create_as(storage, kind, number, kind.name(number))
    }

    /// Makes a log under another name, which the caller changes.
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

    /// Adds a record to the next commit and tells where in the file it will begin.
    pub fn append(&mut self, payload: &[u8]) -> Result<u64> {
        if payload.is_empty() {
            return Err(Error::Invalid {
                what: "a record of a log has at least one byte; this one has none".to_owned(),
            });
        }
        let offset = self.len();
        frame::put(&mut self.buffer, self.salt, payload);
        Ok(offset)
    }

    /// Writes what was appended, all at once. It is durable after [`LogWriter::sync`].
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

    /// Makes everything committed durable.
    pub fn sync(&mut self) -> Result<()> {
        self.file.sync().map_err(Error::io("syncing", &self.name))?;
        self.synced = self.committed;
        Ok(())
    }

    /// The file, for who syncs it while others append; [`LogWriter::synced_to`] is told of it afterwards.
    pub fn file(&self) -> &Arc<dyn File> {
        &self.file
    }

    /// How long the file is once what was appended is committed, in bytes.
    pub fn len(&self) -> u64 {
        self.committed + self.buffer.len() as u64
    }

    /// How much of the file was written, in bytes.
    pub fn committed(&self) -> u64 {
        self.committed
    }

    /// What the file is called.
    pub fn name(&self) -> &str {
        &self.name
    }
}
