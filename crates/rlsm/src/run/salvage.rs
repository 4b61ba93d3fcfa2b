//! Getting out of a run whatever can still be read.

use super::Order;
use super::block::{Block, Location, UNIT_BYTES};
use super::cache::BlockCache;
use super::entries::{Malformed, Scan};
use super::file::Extent;
use super::logged::LoggedReader;
use super::open::Run;
use crate::entry::Entry;
use crate::error::{Error, Result};

/// Space is given back in blocks of so many bytes at least.
const PAGE_BYTES: u64 = 4096;

impl Run {
    /// Hands every entry of every block that can be read to `take`, and why others cannot to `lose`.
    pub fn salvage(&self, take: &mut dyn FnMut(&Entry<'_>), lose: &mut dyn FnMut(Error)) {
        if self.order == Order::Log {
            return self.salvage_log(take, lose);
        }
        let index = BlockCache::new(1 << 20, 0);
        for block in 0..self.blocks() {
            let read = self.location(&index, block).and_then(|location| self.salvage_block(location, take));
            if let Err(error) = read {
                lose(error);
            }
        }
    }

    /// The records of a log up to the first that cannot be read.
    fn salvage_log(&self, take: &mut dyn FnMut(&Entry<'_>), lose: &mut dyn FnMut(Error)) {
        let mut reader = LoggedReader::new(self);
        loop {
            match reader.next() {
                Ok(Some(entry)) => take(&entry),
                Ok(None) => return,
                Err(error) => return lose(error),
            }
        }
    }

    fn salvage_block(&self, location: Location, take: &mut dyn FnMut(&Entry<'_>)) -> Result<()> {
        let block = Block::read_entries(&self.file, location, self.base)?;
        let mut scan = Scan::new(self.base);
        loop {
            match scan.next(block.body()) {
                Ok(Some(slot)) => take(&slot.entry(block.body())),
                Ok(None) => return Ok(()),
                Err(Malformed) => return Err(self.file.corrupt(location.offset, Malformed::WHAT)),
            }
        }
    }

    /// Whether its space was given back: every block or index page that begins in a page which would have been is
    /// zeros. Where none does, nobody can tell.
    pub fn is_given_back(&self) -> Result<bool> {
        let extents = self.extents();
        let mut any = false;
        for offset in self.begins() {
            let page = offset / PAGE_BYTES * PAGE_BYTES;
            let holds =
                |extent: &Extent| extent.offset <= page && extent.end().is_some_and(|end| page + PAGE_BYTES <= end);
            if !extents.iter().any(holds) {
                continue;
            }
            let mut begin = [0; UNIT_BYTES as usize];
            self.file.read(&mut begin, offset)?;
            if begin != [0; UNIT_BYTES as usize] {
                return Ok(false);
            }
            any = true;
        }
        Ok(any)
    }

    /// Where something begins that the footer alone tells of: blocks, or the pages of the index that tells of them.
    fn begins(&self) -> Vec<u64> {
        let location = |number: u32| match self.order {
            Order::Hash | Order::Log => self.fences.locate(number),
            Order::Key => self.key_index.location(number as usize),
        };
        (0..).map_while(location).map(|location| location.offset).collect()
    }

    fn location(&self, index: &BlockCache, block: u32) -> Result<Location> {
        match self.order {
            Order::Hash | Order::Log => {
                let missing = || self.file.corrupt(self.footer.offset, format!("no fence of block {block}"));
                self.fences.locate(block).ok_or_else(missing)
            }
            Order::Key => self.with_item(index, block, |item| item.location),
        }
    }
}
