//! What callers do with a run of either order: open it, look up a key, read all of it, iterate over it.

use std::sync::Arc;

use super::Order;
use super::cache::BlockCache;
use super::cursor::RunCursor;
use super::file::{DataFile, Extent};
use super::footer::Footer;
use super::handle::Run;
use super::hashes::HashColumn;
use super::log_run::LogRunReader;
use super::lookup::LookupResult;
use super::reader::{BlockReader, RunReader};
use crate::entry::SequenceNumber;
use crate::error::Result;

impl Run {
    /// Opens the run whose footer has this extent.
    pub fn open(file: Arc<DataFile>, footer: Extent) -> Result<(Self, HashColumn)> {
        let (content, hashes) = Footer::read(&file, footer)?;
        let run = Self::new(file, footer, content);
        let hashes = if run.order == Order::Log { run.log_hashes()? } else { hashes };
        Ok((run, hashes))
    }

    /// The newest version of `key`, with the hash `hash`, that `snapshot` sees. Range tombstones are not applied.
    #[inline]
    pub fn get(
        &self,
        cache: &BlockCache,
        hash: u64,
        key: &[u8],
        snapshot: SequenceNumber,
    ) -> Result<Option<LookupResult>> {
        match self.order {
            Order::Hash => self.get_by_hash(cache, hash, key, snapshot),
            Order::Key => self.get_by_key(cache, key, snapshot),
            Order::Log => self.get_logged(cache, hash, key, snapshot),
        }
    }

    /// Reads all entries in stored order, past the cache, in reads of about `read_ahead` bytes.
    pub fn read_all(&self, read_ahead: usize) -> RunReader<'_> {
        match self.order {
            Order::Log => RunReader::Logged(LogRunReader::new(self)),
            Order::Hash | Order::Key => RunReader::Blocks(BlockReader::new(self, read_ahead)),
        }
    }

    /// A cursor in key order. For a hash-ordered run without a permutation it needs a sorted view, which the cache
    /// keeps.
    pub fn cursor(self: &Arc<Self>, cache: &Arc<BlockCache>) -> Result<RunCursor> {
        RunCursor::new(self.clone(), cache.clone())
    }
}
