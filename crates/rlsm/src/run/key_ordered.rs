//! Key-ordered runs: point look-ups through the index, and the cursor.

use std::cmp::Ordering;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::block::{Block, BlockHandle};
use super::cache::BlockCache;
use super::entries::{EntryDecoder, EntrySlot};
use super::file::Extent;
use super::handle::Run;
use super::key_index::{IndexItem, IndexPage};
use super::lookup::{BLOCK_READ_COST, CACHED_BLOCK_COST, LookupResult};
use crate::entry::{Entry, SequenceNumber};
use crate::error::Result;

/// A block in the index.
struct IndexedBlock {
    handle: BlockHandle,
    /// How its separator compares to the key in question.
    separator: Ordering,
    continued: bool,
}

impl IndexedBlock {
    fn new(item: IndexItem<'_>, key: &[u8]) -> Self {
        Self { handle: item.handle, separator: item.separator.cmp(key), continued: item.continued }
    }
}

impl Run {
    pub(super) fn get_by_key(
        &self,
        cache: &BlockCache,
        key: &[u8],
        snapshot: SequenceNumber,
    ) -> Result<Option<LookupResult>> {
        let Some((first, mut handle)) = self.first_block_of(cache, key)? else { return Ok(None) };
        for next in first + 1.. {
            let read = cache.entries(&self.file, handle, self.base)?;
            let found = self.search(read, handle.offset, key, snapshot)?;
            if found.is_some() || next == self.blocks() {
                return Ok(found);
            }
            let indexed = self.indexed(cache, next, key)?;
            if indexed.separator == Ordering::Greater {
                return Ok(None);
            }
            handle = indexed.handle;
        }
        Ok(None)
    }

    /// The last block whose separator is not above `key`.
    fn last_block_up_to(&self, cache: &BlockCache, key: &[u8]) -> Result<Option<(u32, IndexedBlock)>> {
        if self.blocks() == 0 {
            return Ok(None);
        }
        let page = self.key_index.page_of_key(key);
        let (number, indexed) = self.with_page(cache, page, |items| {
            let number = items.count_up_to(key)?.saturating_sub(1);
            Some((number, IndexedBlock::new(items.item(number)?, key)))
        })?;
        Ok(Some((self.key_index.first_block(page) + number as u32, indexed)))
    }

    /// The first block that may hold `key`: the versions of a key may span blocks.
    fn first_block_of(&self, cache: &BlockCache, key: &[u8]) -> Result<Option<(u32, BlockHandle)>> {
        let Some((mut block, mut indexed)) = self.last_block_up_to(cache, key)? else { return Ok(None) };
        while block > 0 && indexed.continued && indexed.separator == Ordering::Equal {
            block -= 1;
            indexed = self.indexed(cache, block, key)?;
        }
        Ok(Some((block, indexed.handle)))
    }

    fn indexed(&self, cache: &BlockCache, block: u32, key: &[u8]) -> Result<IndexedBlock> {
        self.with_item(cache, block, |item| IndexedBlock::new(item, key))
    }

    /// Passes the index item of a block to `then`.
    pub(super) fn with_item<T>(
        &self,
        cache: &BlockCache,
        block: u32,
        then: impl FnOnce(IndexItem<'_>) -> T,
    ) -> Result<T> {
        let page = self.key_index.page_of_block(block);
        let number = block - self.key_index.first_block(page);
        self.with_page(cache, page, |items| items.item(number as usize).map(then))
    }

    /// Passes a page of the index to `then`, whose `None` means that the page is damaged.
    fn with_page<T>(
        &self,
        cache: &BlockCache,
        page: usize,
        then: impl FnOnce(IndexPage<'_>) -> Option<T>,
    ) -> Result<T> {
        let Some(handle) = self.key_index.handle(page) else { return Err(self.bad_page(self.footer.offset)) };
        let block = cache.page(&self.file, handle)?;
        IndexPage::parse(block.body()).and_then(then).ok_or_else(|| self.bad_page(handle.offset))
    }
}

/// A cursor over a key-ordered run.
pub(crate) struct KeyOrderedCursor {
    run: Arc<Run>,
    cache: Arc<BlockCache>,
    /// The current block; `None` before the first move.
    block: Option<Block>,
    number: u32,
    slots: Vec<EntrySlot>,
    /// The current entry; `slots.len()` if there is none.
    at: usize,
    prefetch: Prefetch,
    /// The cost, as in [`Run::scan_cost`].
    cost: u64,
}

impl KeyOrderedCursor {
    pub fn new(run: Arc<Run>, cache: Arc<BlockCache>) -> Self {
        Self { run, cache, block: None, number: 0, slots: Vec::new(), at: 0, prefetch: Prefetch::default(), cost: 0 }
    }

    pub fn entry(&self) -> Option<Entry<'_>> {
        Some(self.slots.get(self.at)?.entry(self.block.as_ref()?.body()))
    }

    pub fn first(&mut self) -> Result<()> {
        match self.run.blocks() {
            0 => Ok(()),
            _ => self.load_block(0, |_| 0),
        }
    }

    pub fn last(&mut self) -> Result<()> {
        match self.run.blocks() {
            0 => Ok(()),
            blocks => self.load_block(blocks - 1, |entries| entries - 1),
        }
    }

    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        let Some((block, handle)) = self.run.first_block_of(&self.cache, key)? else { return Ok(()) };
        self.jump(block, handle)?;
        self.at = self.count_before(|entry| entry < key);
        // At most one block lies wholly below the key: the next separator is not below it.
        if self.at == self.slots.len() && block + 1 < self.run.blocks() {
            self.load_block(block + 1, |_| 0)
        } else {
            Ok(())
        }
    }

    pub fn seek_for_previous(&mut self, key: &[u8]) -> Result<()> {
        let Some((block, indexed)) = self.run.last_block_up_to(&self.cache, key)? else { return Ok(()) };
        self.jump(block, indexed.handle)?;
        match (self.count_before(|entry| entry <= key), block) {
            (0, 0) => self.clear_position(),
            (0, _) => return self.load_block(block - 1, |entries| entries - 1),
            (count, _) => self.at = count - 1,
        }
        Ok(())
    }

    pub fn next(&mut self) -> Result<()> {
        if self.at < self.slots.len() {
            self.at += 1;
            if self.at == self.slots.len() && self.number + 1 < self.run.blocks() {
                return self.load_next_block();
            }
        }
        Ok(())
    }

    pub fn previous(&mut self) -> Result<()> {
        match (self.at, self.number) {
            (at, _) if at == self.slots.len() => {}
            (0, 0) => self.clear_position(),
            (0, number) => return self.load_block(number - 1, |entries| entries - 1),
            (at, _) => self.at = at - 1,
        }
        Ok(())
    }

    fn clear_position(&mut self) {
        self.at = self.slots.len();
    }

    fn count_before(&self, is_before: impl Fn(&[u8]) -> bool) -> usize {
        let body = self.block.as_ref().map_or(&[][..], Block::body);
        self.slots.partition_point(|slot| is_before(slot.key(body)))
    }

    /// Loads a block and moves to the entry that `choose` selects by the number of entries.
    fn load_block(&mut self, number: u32, choose: impl FnOnce(usize) -> usize) -> Result<()> {
        self.slots.clear();
        let handle = self.run.with_item(&self.cache, number, |item| item.handle)?;
        self.jump(number, handle)?;
        self.at = choose(self.slots.len());
        Ok(())
    }

    /// Moves from the last entry of a block to the first of the next.
    fn load_next_block(&mut self) -> Result<()> {
        self.slots.clear();
        let handle = self.run.with_item(&self.cache, self.number + 1, |item| item.handle)?;
        let was_cached = self.load_block_at(self.number + 1, handle)?;
        self.cost += CACHED_BLOCK_COST;
        if !was_cached && let Some(soon) = self.prefetch.step(handle, &self.run.pieces) {
            self.run.file.file.will_need(soon.offset, soon.len);
        }
        Ok(())
    }

    /// Loads a block that does not follow the current one.
    fn jump(&mut self, number: u32, handle: BlockHandle) -> Result<()> {
        self.prefetch = Prefetch::default();
        let was_cached = self.load_block_at(number, handle)?;
        self.cost += if was_cached { CACHED_BLOCK_COST } else { BLOCK_READ_COST };
        Ok(())
    }

    /// Loads a block and moves to its first entry; after an error there is none. Returns whether it was cached.
    fn load_block_at(&mut self, number: u32, handle: BlockHandle) -> Result<bool> {
        self.slots.clear();
        self.at = 0;
        let (block, was_cached) = self.cache.entries(&self.run.file, handle, self.run.base)?;
        let (mut scan, mut slots) = (EntryDecoder::new(self.run.base), std::mem::take(&mut self.slots));
        while let Some(slot) = scan.next(block.body()).map_err(|bad| self.run.malformed(bad, handle.offset))? {
            slots.push(slot);
        }
        if slots.is_empty() {
            return Err(self.run.bad_page(handle.offset));
        }
        (self.block, self.number, self.slots) = (Some(block), number, slots);
        Ok(was_cached)
    }
}

/// The length of a prefetch, in bytes: the first one, and the longest.
const PREFETCH_BYTES: RangeInclusive<u64> = 32 << 10..=512 << 10;
/// This many adjacent blocks in a row make a sequential scan.
const STREAK_MIN: u32 = 2;

/// Prefetch of a sequential scan.
#[derive(Default)]
struct Prefetch {
    /// Adjacent blocks so far that were not cached.
    streak: u32,
    len: u64,
    /// The end of the last prefetch.
    end: u64,
}

impl Prefetch {
    /// What to prefetch of the run's `pieces` after the block at `handle`, which was not cached.
    fn step(&mut self, handle: BlockHandle, pieces: &[Extent]) -> Option<Extent> {
        self.streak += 1;
        if self.streak < STREAK_MIN || handle.offset < self.end.saturating_sub(self.len / 2) {
            return None;
        }
        self.len = (2 * self.len).clamp(*PREFETCH_BYTES.start(), *PREFETCH_BYTES.end());
        let ends = |piece: &Extent| piece.offset + piece.len;
        let piece_end = pieces.iter().find(|piece| (piece.offset..ends(piece)).contains(&handle.offset)).map(ends)?;
        let offset = (handle.offset + handle.len).max(self.end);
        self.end = (offset + self.len).min(piece_end);
        (offset < self.end).then(|| Extent { offset, len: self.end - offset })
    }
}

impl Drop for KeyOrderedCursor {
    fn drop(&mut self) {
        self.run.add_scan_cost(self.cost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefetch_covers_the_piece_once() {
        let pieces = [Extent { offset: 16, len: 100_000 }, Extent { offset: 1 << 20, len: 10 << 20 }];
        for piece in pieces {
            let (mut prefetch, mut prefetched) = (Prefetch::default(), Vec::new());
            let end = piece.offset + piece.len;
            let mut offset = piece.offset;
            while offset < end {
                let len = 4096.min(end - offset);
                prefetched.extend(prefetch.step(BlockHandle { offset, len }, &pieces));
                offset += len;
            }
            assert_eq!(
                prefetched[0],
                Extent { offset: piece.offset + 2 * 4096, len: *PREFETCH_BYTES.start() },
                "a single block causes no prefetch"
            );
            assert!(prefetched.windows(2).all(|pair| pair[0].end() == Some(pair[1].offset)), "{prefetched:?}");
            assert!(prefetched.iter().all(|soon| soon.len > 0 && soon.len <= *PREFETCH_BYTES.end()));
            assert_eq!(prefetched.last().unwrap().end(), Some(end));
        }
    }
}
