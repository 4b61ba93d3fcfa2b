//! Reading a whole run in stored order, past the cache, in large reads.

use std::ops::Range;

use super::block::{BlockFrame, BlockHandle, HEADER_BYTES_MAX, bytes_to_page};
use super::entries::{EntryDecoder, EntrySlot};
use super::file::Extent;
use super::handle::Run;
use super::log_run::LogRunReader;
use super::permutation::EntryAddress;
use crate::entry::Entry;
use crate::error::Result;

/// Reads the entries of a run in stored order.
pub(crate) enum RunReader<'a> {
    Blocks(BlockReader<'a>),
    Logged(LogRunReader<'a>),
}

impl RunReader<'_> {
    /// The next entry; `None` after the last one that the footer counts.
    pub fn next(&mut self) -> Result<Option<Entry<'_>>> {
        match self {
            Self::Blocks(reader) => reader.next(),
            Self::Logged(reader) => reader.next(),
        }
    }
}

/// Reads the entries of a run of blocks.
pub(crate) struct BlockReader<'a> {
    run: &'a Run,
    read_ahead: u64,
    /// The index of the next piece.
    piece: usize,
    /// The unread part of the current piece.
    unread: Extent,
    /// What was read of it; used up to `at`.
    buffer: Vec<u8>,
    at: usize,
    body: BlockBody,
    scratch: Vec<u8>,
    scan: EntryDecoder,
    /// The number of blocks begun, and of entries returned from the last one.
    blocks: u32,
    slots: u32,
    /// The place of the last block.
    block: BlockHandle,
    entries: u64,
}

/// Where the body of the current block is.
enum BlockBody {
    Buffer(Range<usize>),
    Scratch,
}

impl<'a> BlockReader<'a> {
    pub(super) fn new(run: &'a Run, read_ahead: usize) -> Self {
        Self {
            run,
            read_ahead: read_ahead as u64,
            piece: 0,
            unread: Extent { offset: 0, len: 0 },
            buffer: Vec::new(),
            at: 0,
            body: BlockBody::Buffer(0..0),
            scratch: Vec::new(),
            scan: EntryDecoder::new(run.base),
            blocks: 0,
            slots: 0,
            block: BlockHandle { offset: 0, len: 0 },
            entries: 0,
        }
    }

    /// The next entry; `None` after the last one that the footer counts.
    pub fn next(&mut self) -> Result<Option<Entry<'_>>> {
        Ok(self.next_with_address()?.map(|(_, entry)| entry))
    }

    /// The next entry with its address.
    pub fn next_with_address(&mut self) -> Result<Option<(EntryAddress, Entry<'_>)>> {
        let Some(slot) = self.advance()? else { return Ok(None) };
        self.slots += 1;
        self.entries += 1;
        Ok(Some((EntryAddress::new(self.blocks - 1, self.slots - 1), slot.entry(self.body()))))
    }

    /// The place of the last entry's block, without padding to a page.
    pub fn block(&self) -> BlockHandle {
        self.block
    }

    fn advance(&mut self) -> Result<Option<EntrySlot>> {
        loop {
            let body = match &self.body {
                BlockBody::Buffer(range) => &self.buffer[range.clone()],
                BlockBody::Scratch => &self.scratch[..],
            };
            match self.scan.next(body) {
                Ok(Some(slot)) if self.slots <= 0xff => return Ok(Some(slot)),
                Ok(None) => {}
                _ => return Err(self.run.file.corrupt(self.block.offset, super::entries::MalformedBlock::WHAT)),
            }
            if !self.next_block()? {
                return self.check_end().map(|()| None);
            }
        }
    }

    fn body(&self) -> &[u8] {
        match &self.body {
            BlockBody::Buffer(range) => &self.buffer[range.clone()],
            BlockBody::Scratch => &self.scratch,
        }
    }

    fn check_end(&self) -> Result<()> {
        if (self.blocks, self.entries) == (self.run.blocks(), self.run.entries) {
            return Ok(());
        }
        let (run, blocks, entries) = (self.run, self.blocks, self.entries);
        let problem = format!(
            "the footer counts {} entries in {} blocks, the run has {entries} in {blocks}",
            run.entries,
            run.blocks()
        );
        Err(run.file.corrupt(run.footer.offset, problem))
    }

    /// Moves to the next block; `false` if there is none.
    fn next_block(&mut self) -> Result<bool> {
        let mut is_at_block = false;
        while !is_at_block {
            if self.is_at_end_of_piece() {
                let Some(piece) = self.run.pieces.get(self.piece) else { return Ok(false) };
                (self.unread, self.piece) = (*piece, self.piece + 1);
            }
            self.pass_gap()?;
            is_at_block = !self.is_at_end_of_piece();
        }
        let offset = self.position();
        let corrupt = |problem| self.run.file.corrupt(offset, problem);
        let len = BlockFrame::parse_header(&self.buffer[self.at..]).map_err(corrupt)?.block_bytes;
        self.fill(len)?;
        let corrupt = |problem| self.run.file.corrupt(offset, problem);
        let Some(bytes) = self.buffer.get(self.at..self.at + len as usize) else {
            return Err(corrupt(format!(
                "the block says it has {len} bytes, which is more than the rest of its piece"
            )));
        };
        let frame = BlockFrame::parse(bytes).map_err(corrupt)?;
        self.body = match frame.plain_body() {
            Some(range) => BlockBody::Buffer(self.at + range.start..self.at + range.end),
            None => {
                frame.expand(bytes, &mut self.scratch).map_err(corrupt)?;
                BlockBody::Scratch
            }
        };
        self.at += len as usize;
        self.scan = EntryDecoder::new(self.run.base);
        (self.blocks, self.slots, self.block) = (self.blocks + 1, 0, BlockHandle { offset, len });
        Ok(true)
    }

    /// Skips zeros up to the next page.
    fn pass_gap(&mut self) -> Result<()> {
        self.fill(HEADER_BYTES_MAX as u64)?;
        let gap = bytes_to_page(self.position());
        if self.buffer[self.at..].starts_with(&[0; 4]) {
            self.fill(gap + HEADER_BYTES_MAX as u64)?;
            let gap = (gap as usize).min(self.buffer.len() - self.at);
            if self.buffer[self.at..self.at + gap].iter().all(|byte| *byte == 0) {
                self.at += gap;
            }
        }
        Ok(())
    }

    fn is_at_end_of_piece(&self) -> bool {
        self.at == self.buffer.len() && self.unread.len == 0
    }

    /// The offset of the next byte in the file.
    fn position(&self) -> u64 {
        self.unread.offset - (self.buffer.len() - self.at) as u64
    }

    /// Reads until `need` bytes are in the buffer, or the piece ends.
    fn fill(&mut self, need: u64) -> Result<()> {
        let have = (self.buffer.len() - self.at) as u64;
        if have >= need || self.unread.len == 0 {
            return Ok(());
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        // The length comes from a header that no checksum has confirmed yet: never read beyond the piece.
        let len = (need - have).max(self.read_ahead).min(self.unread.len);
        self.run.file.check_bounds(Extent { offset: self.unread.offset, len })?;
        self.buffer.resize((have + len) as usize, 0);
        self.run.file.read(&mut self.buffer[have as usize..], self.unread.offset)?;
        self.unread = Extent { offset: self.unread.offset + len, len: self.unread.len - len };
        let soon = self.unread.len.min(self.read_ahead);
        if soon > 0 {
            self.run.file.file.will_need(self.unread.offset, soon);
        }
        Ok(())
    }
}
