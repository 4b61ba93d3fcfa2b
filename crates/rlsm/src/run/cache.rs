//! The cache of blocks, and beside it that of sorted views.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::block::{Block, Location};
use super::file::DataFile;
use super::view::View;
use crate::entry::Sequence;
use crate::error::Result;

/// A block or a view of a run: the file's number and the offset in it.
type Place = (u64, u64);

/// What an item costs beside its bytes: its place, the map's and the queue's part, the count of holders.
const ITEM_BYTES: u64 = 96;
/// A guess of the size of items for the first allocation.
const BLOCK_BYTES_USUAL: u64 = 4 << 10;
const VIEW_BYTES_USUAL: u64 = 1 << 20;
/// Hits are counted in as many places, so that readers do not wait for one another's cache line.
const COUNTERS: usize = 16;

#[derive(Clone)]
struct Bytes;

impl Weighter<Place, Block> for Bytes {
    fn weight(&self, _place: &Place, block: &Block) -> u64 {
        block.memory_bytes() + ITEM_BYTES
    }
}

impl Weighter<Place, Arc<View>> for Bytes {
    fn weight(&self, _place: &Place, view: &Arc<View>) -> u64 {
        view.memory_bytes() + ITEM_BYTES
    }
}

#[derive(Default)]
#[repr(align(64))]
struct Counter(AtomicU64);

/// Blocks and sorted views of all files, within bounds in bytes.
pub(crate) struct BlockCache {
    blocks: Cache<Place, Block, Bytes>,
    views: Cache<Place, Arc<View>, Bytes>,
    hits: [Counter; COUNTERS],
    misses: AtomicU64,
    /// What runs take that cursors loaded, in bytes.
    loaded_bytes: AtomicU64,
}

/// Memory that a cursor has for a run of its own.
pub(super) struct Room {
    cache: Arc<BlockCache>,
    bytes: u64,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.cache.loaded_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// What a cache did since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CacheCounts {
    pub hits: u64,
    pub misses: u64,
}

impl BlockCache {
    pub fn new(block_bytes: u64, view_bytes: u64) -> Self {
        let items = |bytes: u64, usual: u64| usize::try_from(bytes / usual).unwrap_or(usize::MAX).clamp(16, 1 << 24);
        Self {
            blocks: Cache::with_weighter(items(block_bytes, BLOCK_BYTES_USUAL), block_bytes, Bytes),
            views: Cache::with_weighter(items(view_bytes, VIEW_BYTES_USUAL), view_bytes, Bytes),
            hits: Default::default(),
            misses: AtomicU64::new(0),
            loaded_bytes: AtomicU64::new(0),
        }
    }

    /// The block of entries at `location`, of a run with this base, read if it is not here, and whether it was.
    #[inline]
    pub fn entries(&self, file: &DataFile, location: Location, base: Sequence) -> Result<(Block, bool)> {
        self.block((file.number, location.offset), || Block::read_entries(file, location, base))
    }

    /// The page at `location`, read if it is not here.
    #[inline]
    pub fn page(&self, file: &DataFile, location: Location) -> Result<Block> {
        self.block((file.number, location.offset), || Block::read_page(file, location)).map(|(block, _)| block)
    }

    /// The payload of the record at `offset` of a log, read by `read` if it is not here, and whether it was.
    pub fn record(
        &self,
        file: &DataFile,
        offset: u64,
        read: impl FnOnce() -> Result<Vec<u8>>,
    ) -> Result<(Block, bool)> {
        self.block((file.number, offset), || read().map(Block::of))
    }

    #[inline]
    fn block(&self, place: Place, read: impl FnOnce() -> Result<Block>) -> Result<(Block, bool)> {
        if let Some(block) = self.blocks.get(&place) {
            let counter = (place.1 >> 12) as usize % COUNTERS;
            self.hits[counter].0.fetch_add(1, Ordering::Relaxed);
            return Ok((block, true));
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        self.blocks.get_or_insert_with(&place, read).map(|block| (block, false))
    }

    /// The sorted view of the run whose footer lies at `footer_offset`, made if it is not here.
    pub fn view(&self, file: u64, footer_offset: u64, make: impl FnOnce() -> Result<View>) -> Result<Arc<View>> {
        self.views.get_or_insert_with(&(file, footer_offset), || make().map(Arc::new))
    }

    /// Room for a cursor's own run of so many bytes; all cursors together get as much as blocks may take.
    pub(super) fn room(self: &Arc<Self>, bytes: u64) -> Option<Room> {
        let with = |loaded: u64| loaded.checked_add(bytes).filter(|loaded| *loaded <= self.blocks.capacity());
        self.loaded_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with).ok()?;
        Some(Room { cache: Arc::clone(self), bytes })
    }

    /// Bounds blocks anew.
    pub fn set_block_bytes(&self, bytes: u64) {
        self.blocks.set_capacity(bytes);
    }

    /// How often a block was here, and how often not.
    pub fn counts(&self) -> CacheCounts {
        let hits = self.hits.iter().map(|counter| counter.0.load(Ordering::Relaxed)).sum();
        CacheCounts { hits, misses: self.misses.load(Ordering::Relaxed) }
    }

    /// What blocks, views and runs of cursors take in memory, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.blocks.weight() + self.views.weight() + self.loaded_bytes.load(Ordering::Relaxed)
    }
}
