//! Point look-ups in a block that is found through the cache.

use super::block::Block;
use super::cache::BlockCache;
use super::handle::Run;
use super::value::Value;
use crate::entry::{EntryKind, SequenceNumber};
use crate::error::Result;

/// The cost of finding an entry's block in the cache, in the unit of [`Run::scan_cost`].
pub(super) const CACHED_BLOCK_COST: u64 = 256;
/// The cost of reading a block: a few KiB from the page cache, some 80 KiB from flash.
pub(crate) const BLOCK_READ_COST: u64 = 16 << 10;

/// The result of a look-up: the newest version of the key that the snapshot sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LookupResult {
    pub sequence: SequenceNumber,
    pub kind: EntryKind,
    /// Empty for [`EntryKind::Delete`].
    pub value: Value,
    /// Whether its block was in the cache.
    pub was_cached: bool,
}

impl Run {
    /// [`Run::get`] for a hash-ordered run.
    #[inline]
    pub(super) fn get_by_hash(
        &self,
        cache: &BlockCache,
        hash: u64,
        key: &[u8],
        snapshot: SequenceNumber,
    ) -> Result<Option<LookupResult>> {
        for handle in self.fences.candidates(hash) {
            let read = cache.entries(&self.file, handle, self.base)?;
            if let Some(found) = self.search(read, handle.offset, key, snapshot)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Searches a block, which was cached or not.
    pub(super) fn search(
        &self,
        (block, was_cached): (Block, bool),
        offset: u64,
        key: &[u8],
        snapshot: SequenceNumber,
    ) -> Result<Option<LookupResult>> {
        match block.search(self.base, key, snapshot) {
            Ok(None) => Ok(None),
            Ok(Some(slot)) => {
                let value = block.value(slot.value_start(), slot.value_len);
                Ok(Some(LookupResult { sequence: slot.sequence, kind: slot.kind, value, was_cached }))
            }
            Err(malformed) => Err(self.malformed(malformed, offset)),
        }
    }
}
