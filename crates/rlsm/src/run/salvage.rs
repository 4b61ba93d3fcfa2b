//! Salvaging what can be read of a damaged run.

use super::Order;
use super::block::{Block, BlockHandle, UNIT_BYTES};
use super::cache::BlockCache;
use super::entries::{EntryDecoder, MalformedBlock};
use super::file::Extent;
use super::handle::Run;
use super::log_run::LogRunReader;
use crate::entry::Entry;
use crate::error::{Error, Result};

/// The size of the pages in which space is reclaimed.
const PAGE_BYTES: u64 = 4096;

impl Run {
    /// Passes every entry of every readable block to `on_entry`, and the errors of the others to `on_error`.
    pub fn salvage(&self, on_entry: &mut dyn FnMut(&Entry<'_>), on_error: &mut dyn FnMut(Error)) {
        if self.order == Order::Log {
            return self.salvage_log(on_entry, on_error);
        }
        let index = BlockCache::new(1 << 20, 0);
        for block in 0..self.blocks() {
            let read = self.handle(&index, block).and_then(|handle| self.salvage_block(handle, on_entry));
            if let Err(error) = read {
                on_error(error);
            }
        }
    }

    /// Salvages the records of a log up to the first that cannot be read.
    fn salvage_log(&self, on_entry: &mut dyn FnMut(&Entry<'_>), on_error: &mut dyn FnMut(Error)) {
        let mut reader = LogRunReader::new(self);
        loop {
            match reader.next() {
                Ok(Some(entry)) => on_entry(&entry),
                Ok(None) => return,
                Err(error) => return on_error(error),
            }
        }
    }

    fn salvage_block(&self, handle: BlockHandle, on_entry: &mut dyn FnMut(&Entry<'_>)) -> Result<()> {
        let block = Block::read_entries(&self.file, handle, self.base)?;
        let mut scan = EntryDecoder::new(self.base);
        loop {
            match scan.next(block.body()) {
                Ok(Some(slot)) => on_entry(&slot.entry(block.body())),
                Ok(None) => return Ok(()),
                Err(MalformedBlock) => return Err(self.file.corrupt(handle.offset, MalformedBlock::WHAT)),
            }
        }
    }

    /// Whether the space of the run was reclaimed: every block or index page that begins in a reclaimable page is zero.
    /// `false` if none does, for then it cannot be decided.
    pub fn is_reclaimed(&self) -> Result<bool> {
        let extents = self.extents();
        let mut any = false;
        for offset in self.start_offsets() {
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

    /// The offsets that the footer itself has: of blocks, or of the index pages that locate them.
    fn start_offsets(&self) -> Vec<u64> {
        let handle = |number: u32| match self.order {
            Order::Hash | Order::Log => self.fences.locate(number),
            Order::Key => self.key_index.handle(number as usize),
        };
        (0..).map_while(handle).map(|handle| handle.offset).collect()
    }

    fn handle(&self, index: &BlockCache, block: u32) -> Result<BlockHandle> {
        match self.order {
            Order::Hash | Order::Log => {
                let missing =
                    || self.file.corrupt(self.footer.offset, format!("the fence pointers have no block {block}"));
                self.fences.locate(block).ok_or_else(missing)
            }
            Order::Key => self.with_item(index, block, |item| item.handle),
        }
    }
}
