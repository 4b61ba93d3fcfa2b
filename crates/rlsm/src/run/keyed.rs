//! Key-ordered runs: finding a key's blocks through the index, and going through them.

use std::cmp::Ordering;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::block::{Block, Location};
use super::cache::BlockCache;
use super::entries::{Scan, Slot};
use super::file::Extent;
use super::key_index::{IndexPage, Item};
use super::open::{Found, HIT_COST, MISS_COST, Run};
use crate::entry::{Entry, Sequence};
use crate::error::Result;

/// A block as the index tells of it.
struct Indexed {
    location: Location,
    /// How its separator compares to the key in question.
    separator: Ordering,
    continued: bool,
}

impl Indexed {
    fn new(item: Item<'_>, key: &[u8]) -> Self {
        Self { location: item.location, separator: item.separator.cmp(key), continued: item.continued }
    }
}

impl Run {
    pub(super) fn get_by_key(&self, cache: &BlockCache, key: &[u8], snapshot: Sequence) -> Result<Option<Found>> {
        let Some((first, mut location)) = self.first_block_of(cache, key)? else { return Ok(None) };
        for next in first + 1.. {
            let read = cache.entries(&self.file, location, self.base)?;
            let found = self.search(read, location.offset, key, snapshot)?;
            if found.is_some() || next == self.blocks() {
                return Ok(found);
            }
            let indexed = self.indexed(cache, next, key)?;
            if indexed.separator == Ordering::Greater {
                return Ok(None);
            }
            location = indexed.location;
        }
        Ok(None)
    }

    /// The last block whose separator is not above `key`.
    fn last_block_up_to(&self, cache: &BlockCache, key: &[u8]) -> Result<Option<(u32, Indexed)>> {
        if self.blocks() == 0 {
            return Ok(None);
        }
        let page = self.key_index.page_of_key(key);
        let (number, indexed) = self.with_page(cache, page, |items| {
            let number = items.up_to(key)?.saturating_sub(1);
            Some((number, Indexed::new(items.item(number)?, key)))
        })?;
        Ok(Some((self.key_index.first_block(page) + number as u32, indexed)))
    }

    /// The first block that may hold `key`: the versions of a key may span blocks.
    fn first_block_of(&self, cache: &BlockCache, key: &[u8]) -> Result<Option<(u32, Location)>> {
        let Some((mut block, mut indexed)) = self.last_block_up_to(cache, key)? else { return Ok(None) };
        while block > 0 && indexed.continued && indexed.separator == Ordering::Equal {
            block -= 1;
            indexed = self.indexed(cache, block, key)?;
        }
        Ok(Some((block, indexed.location)))
    }

    fn indexed(&self, cache: &BlockCache, block: u32, key: &[u8]) -> Result<Indexed> {
        self.with_item(cache, block, |item| Indexed::new(item, key))
    }

    /// Hands over what the index has of a block.
    pub(super) fn with_item<T>(&self, cache: &BlockCache, block: u32, then: impl FnOnce(Item<'_>) -> T) -> Result<T> {
        let page = self.key_index.page_of_block(block);
        let number = block - self.key_index.first_block(page);
        self.with_page(cache, page, |items| items.item(number as usize).map(then))
    }

    /// Hands over a page of the index; what cannot be made of it makes it damaged.
    fn with_page<T>(
        &self,
        cache: &BlockCache,
        page: usize,
        then: impl FnOnce(IndexPage<'_>) -> Option<T>,
    ) -> Result<T> {
        let Some(location) = self.key_index.location(page) else { return Err(self.bad_page(self.footer.offset)) };
        let block = cache.page(&self.file, location)?;
        IndexPage::parse(block.body()).and_then(then).ok_or_else(|| self.bad_page(location.offset))
    }
}

/// A cursor over a key-ordered run.
pub(crate) struct KeyedCursor {
    run: Arc<Run>,
    cache: Arc<BlockCache>,
    /// The block that is loaded, with all its entries; none before the first move.
    block: Option<Block>,
    number: u32,
    slots: Vec<Slot>,
    /// The current entry; `slots.len()` if there is none.
    at: usize,
    ahead: Ahead,
    /// As [`Run::scan_cost`] has it.
    cost: u64,
}

impl KeyedCursor {
    pub fn new(run: Arc<Run>, cache: Arc<BlockCache>) -> Self {
        Self { run, cache, block: None, number: 0, slots: Vec::new(), at: 0, ahead: Ahead::default(), cost: 0 }
    }

    pub fn entry(&self) -> Option<Entry<'_>> {
        Some(self.slots.get(self.at)?.entry(self.block.as_ref()?.body()))
    }

    pub fn first(&mut self) -> Result<()> {
        match self.run.blocks() {
            0 => Ok(()),
            _ => self.enter(0, |_| 0),
        }
    }

    pub fn last(&mut self) -> Result<()> {
        match self.run.blocks() {
            0 => Ok(()),
            blocks => self.enter(blocks - 1, |entries| entries - 1),
        }
    }

    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        let Some((block, location)) = self.run.first_block_of(&self.cache, key)? else { return Ok(()) };
        self.jump(block, location)?;
        self.at = self.count_before(|entry| entry < key);
        // No more than one block can lie wholly below the key: the next one's separator is above it or equal.
        if self.at == self.slots.len() && block + 1 < self.run.blocks() { self.enter(block + 1, |_| 0) } else { Ok(()) }
    }

    pub fn seek_for_previous(&mut self, key: &[u8]) -> Result<()> {
        let Some((block, indexed)) = self.run.last_block_up_to(&self.cache, key)? else { return Ok(()) };
        self.jump(block, indexed.location)?;
        match (self.count_before(|entry| entry <= key), block) {
            (0, 0) => self.leave(),
            (0, _) => return self.enter(block - 1, |entries| entries - 1),
            (count, _) => self.at = count - 1,
        }
        Ok(())
    }

    pub fn next(&mut self) -> Result<()> {
        if self.at < self.slots.len() {
            self.at += 1;
            if self.at == self.slots.len() && self.number + 1 < self.run.blocks() {
                return self.enter_next();
            }
        }
        Ok(())
    }

    pub fn previous(&mut self) -> Result<()> {
        match (self.at, self.number) {
            (at, _) if at == self.slots.len() => {}
            (0, 0) => self.leave(),
            (0, number) => return self.enter(number - 1, |entries| entries - 1),
            (at, _) => self.at = at - 1,
        }
        Ok(())
    }

    fn leave(&mut self) {
        self.at = self.slots.len();
    }

    fn count_before(&self, is_before: impl Fn(&[u8]) -> bool) -> usize {
        let body = self.block.as_ref().map_or(&[][..], Block::body);
        self.slots.partition_point(|slot| is_before(slot.key(body)))
    }

    /// Loads a block and takes the entry that `choose` takes of so many.
    fn enter(&mut self, number: u32, choose: impl FnOnce(usize) -> usize) -> Result<()> {
        self.slots.clear();
        let location = self.run.with_item(&self.cache, number, |item| item.location)?;
        self.jump(number, location)?;
        self.at = choose(self.slots.len());
        Ok(())
    }

    /// Goes from the last entry of a block to the first of the next.
    fn enter_next(&mut self) -> Result<()> {
        self.slots.clear();
        let location = self.run.with_item(&self.cache, self.number + 1, |item| item.location)?;
        let was_here = self.enter_at(self.number + 1, location)?;
        self.cost += HIT_COST;
        if !was_here && let Some(soon) = self.ahead.step(location, &self.run.pieces) {
            self.run.file.file.will_need(soon.offset, soon.len);
        }
        Ok(())
    }

    /// Loads a block that is not the one after that before, as [`KeyedCursor::enter_at`].
    fn jump(&mut self, number: u32, location: Location) -> Result<()> {
        self.ahead = Ahead::default();
        let was_here = self.enter_at(number, location)?;
        self.cost += if was_here { HIT_COST } else { MISS_COST };
        Ok(())
    }

    /// Loads a block and takes its first entry; after an error there is none. Whether it was in the cache.
    fn enter_at(&mut self, number: u32, location: Location) -> Result<bool> {
        self.slots.clear();
        self.at = 0;
        let (block, was_here) = self.cache.entries(&self.run.file, location, self.run.base)?;
        let (mut scan, mut slots) = (Scan::new(self.run.base), std::mem::take(&mut self.slots));
        while let Some(slot) = scan.next(block.body()).map_err(|bad| self.run.malformed(bad, location.offset))? {
            slots.push(slot);
        }
        if slots.is_empty() {
            return Err(self.run.bad_page(location.offset));
        }
        (self.block, self.number, self.slots) = (Some(block), number, slots);
        Ok(was_here)
    }
}

/// Of blocks that are read one after another, so many are asked for in advance, in bytes: at first, and at most.
const AHEAD_BYTES: RangeInclusive<u64> = 32 << 10..=512 << 10;
/// So many blocks one after another are no chance.
const STREAK: u32 = 2;

/// Which blocks to ask for in advance.
#[derive(Default)]
struct Ahead {
    /// Blocks so far that had to be read.
    streak: u32,
    len: u64,
    /// Where it ends.
    end: u64,
}

impl Ahead {
    /// What of the run's `pieces` is to be asked for after the block at `location`, which had to be read.
    fn step(&mut self, location: Location, pieces: &[Extent]) -> Option<Extent> {
        self.streak += 1;
        if self.streak < STREAK || location.offset < self.end.saturating_sub(self.len / 2) {
            return None;
        }
        self.len = (2 * self.len).clamp(*AHEAD_BYTES.start(), *AHEAD_BYTES.end());
        let ends = |piece: &Extent| piece.offset + piece.len;
        let piece_end = pieces.iter().find(|piece| (piece.offset..ends(piece)).contains(&location.offset)).map(ends)?;
        let offset = (location.offset + location.len).max(self.end);
        self.end = (offset + self.len).min(piece_end);
        (offset < self.end).then(|| Extent { offset, len: self.end - offset })
    }
}

impl Drop for KeyedCursor {
    fn drop(&mut self) {
        self.run.add_scan_cost(self.cost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_next_is_asked_for_once_and_within_the_piece() {
        let pieces = [Extent { offset: 16, len: 100_000 }, Extent { offset: 1 << 20, len: 10 << 20 }];
        for piece in pieces {
            let (mut ahead, mut asked) = (Ahead::default(), Vec::new());
            let end = piece.offset + piece.len;
            let mut offset = piece.offset;
            while offset < end {
                let len = 4096.min(end - offset);
                asked.extend(ahead.step(Location { offset, len }, &pieces));
                offset += len;
            }
            assert_eq!(
                asked[0],
                Extent { offset: piece.offset + 2 * 4096, len: *AHEAD_BYTES.start() },
                "not for one block"
            );
            assert!(asked.windows(2).all(|pair| pair[0].end() == Some(pair[1].offset)), "{asked:?}");
            assert!(asked.iter().all(|soon| soon.len > 0 && soon.len <= *AHEAD_BYTES.end()));
            assert_eq!(asked.last().unwrap().end(), Some(end));
        }
    }
}
