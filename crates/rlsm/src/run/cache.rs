//! The block cache, and the cache of sorted views.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::block::{Block, BlockHandle};
use super::file::DataFile;
use super::sorted_view::SortedView;
use crate::entry::SequenceNumber;
use crate::error::Result;

/// The key of a block or a view: file number and offset.
type CacheKey = (u64, u64);

/// The overhead of an item: key, map and queue entry, reference count.
const ITEM_BYTES: u64 = 96;
/// A guess of the size of items, for the initial allocation.
const BLOCK_BYTES_TYPICAL: u64 = 4 << 10;
const VIEW_BYTES_TYPICAL: u64 = 1 << 20;
/// Hits are counted in this many cache lines, so that readers do not contend.
const COUNTERS: usize = 16;

#[derive(Clone)]
struct ByteWeighter;

impl Weighter<CacheKey, Block> for ByteWeighter {
    fn weight(&self, _place: &CacheKey, block: &Block) -> u64 {
        block.memory_bytes() + ITEM_BYTES
    }
}

impl Weighter<CacheKey, Arc<SortedView>> for ByteWeighter {
    fn weight(&self, _place: &CacheKey, view: &Arc<SortedView>) -> u64 {
        view.memory_bytes() + ITEM_BYTES
    }
}

#[derive(Default)]
#[repr(align(64))]
struct HitCounter(AtomicU64);

/// Blocks and sorted views of all files, within limits in bytes.
pub(crate) struct BlockCache {
    blocks: Cache<CacheKey, Block, ByteWeighter>,
    views: Cache<CacheKey, Arc<SortedView>, ByteWeighter>,
    hits: [HitCounter; COUNTERS],
    misses: AtomicU64,
    /// Memory of the runs that cursors loaded, in bytes.
    loaded_bytes: AtomicU64,
}

/// Memory reserved for a run that a cursor loads.
pub(super) struct MemoryReservation {
    cache: Arc<BlockCache>,
    bytes: u64,
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.cache.loaded_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Counters since the cache was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CacheCounts {
    pub hits: u64,
    pub misses: u64,
}

impl BlockCache {
    pub fn new(block_bytes: u64, view_bytes: u64) -> Self {
        let items = |bytes: u64, usual: u64| usize::try_from(bytes / usual).unwrap_or(usize::MAX).clamp(16, 1 << 24);
        Self {
            blocks: Cache::with_weighter(items(block_bytes, BLOCK_BYTES_TYPICAL), block_bytes, ByteWeighter),
            views: Cache::with_weighter(items(view_bytes, VIEW_BYTES_TYPICAL), view_bytes, ByteWeighter),
            hits: Default::default(),
            misses: AtomicU64::new(0),
            loaded_bytes: AtomicU64::new(0),
        }
    }

    /// The block of entries at `handle` of a run with this base, read on a miss. Returns whether it was cached.
    #[inline]
    pub fn entries(&self, file: &DataFile, handle: BlockHandle, base: SequenceNumber) -> Result<(Block, bool)> {
        self.block((file.number, handle.offset), || Block::read_entries(file, handle, base))
    }

    /// The page at `handle`, read on a miss.
    #[inline]
    pub fn page(&self, file: &DataFile, handle: BlockHandle) -> Result<Block> {
        self.block((file.number, handle.offset), || Block::read_page(file, handle)).map(|(block, _)| block)
    }

    /// The payload of the record at `offset` of a log, read with `read` on a miss. Returns whether it was cached.
    pub fn record(
        &self,
        file: &DataFile,
        offset: u64,
        read: impl FnOnce() -> Result<Vec<u8>>,
    ) -> Result<(Block, bool)> {
        self.block((file.number, offset), || read().map(Block::of))
    }

    #[inline]
    fn block(&self, place: CacheKey, read: impl FnOnce() -> Result<Block>) -> Result<(Block, bool)> {
        if let Some(block) = self.blocks.get(&place) {
            let counter = (place.1 >> 12) as usize % COUNTERS;
            self.hits[counter].0.fetch_add(1, Ordering::Relaxed);
            return Ok((block, true));
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        self.blocks.get_or_insert_with(&place, read).map(|block| (block, false))
    }

    /// The sorted view of the run with its footer at `footer_offset`, built on a miss.
    pub fn view(
        &self,
        file: u64,
        footer_offset: u64,
        make: impl FnOnce() -> Result<SortedView>,
    ) -> Result<Arc<SortedView>> {
        self.views.get_or_insert_with(&(file, footer_offset), || make().map(Arc::new))
    }

    /// Reserves memory for a run that a cursor loads. All cursors together get as much as blocks may take.
    pub(super) fn reserve(self: &Arc<Self>, bytes: u64) -> Option<MemoryReservation> {
        let with = |loaded: u64| loaded.checked_add(bytes).filter(|loaded| *loaded <= self.blocks.capacity());
        self.loaded_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with).ok()?;
        Some(MemoryReservation { cache: Arc::clone(self), bytes })
    }

    /// Changes the capacity for blocks.
    pub fn set_block_bytes(&self, bytes: u64) {
        self.blocks.set_capacity(bytes);
    }

    /// The number of hits and misses.
    pub fn counts(&self) -> CacheCounts {
        let hits = self.hits.iter().map(|counter| counter.0.load(Ordering::Relaxed)).sum();
        CacheCounts { hits, misses: self.misses.load(Ordering::Relaxed) }
    }

    /// Memory of blocks, views and loaded runs, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.blocks.weight() + self.views.weight() + self.loaded_bytes.load(Ordering::Relaxed)
    }
}
