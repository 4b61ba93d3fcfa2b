//! The output file of a data file writer.

use std::sync::Arc;

use super::block::{self, BlockHandle};
use crate::error::{Error, Result};
use crate::storage::File;

/// A data file that is being written.
pub(crate) struct DataFileOutput {
    pub file: Arc<dyn File>,
    pub number: u64,
    pub name: String,
    pub len: u64,
    /// A buffer for assembling what to append.
    pub buffer: Vec<u8>,
}

impl DataFileOutput {
    /// Appends whole units. Returns their place.
    pub fn append(&mut self, bytes: &[u8]) -> Result<BlockHandle> {
        debug_assert!(bytes.len() as u64 == block::padded(bytes.len() as u64));
        self.file.append(bytes).map_err(Error::io("writing", &self.name))?;
        let handle = BlockHandle { offset: self.len, len: bytes.len() as u64 };
        self.len += handle.len;
        Ok(handle)
    }
}
