//! Reading a whole run in stored order, past the cache, in large reads.

use std::ops::Range;

use super::block::{Frame, HEADER_BYTES_MAX, Location, bytes_to_page};
use super::entries::{Scan, Slot};
use super::file::Extent;
use super::logged::LoggedReader;
use super::open::Run;
use super::permutation::Spot;
use crate::entry::Entry;
use crate::error::Result;

/// Hands out the entries of a run one by one.
pub(crate) enum RunReader<'a> {
    Blocks(BlockReader<'a>),
    Logged(LoggedReader<'a>),
}

impl RunReader<'_> {
    /// The next entry; `None` when all that the footer counts have been handed out.
    pub fn next(&mut self) -> Result<Option<Entry<'_>>> {
        match self {
            Self::Blocks(reader) => reader.next(),
            Self::Logged(reader) => reader.next(),
        }
    }
}

/// Hands out the entries of a run that lies in blocks.
pub(crate) struct BlockReader<'a> {
    run: &'a Run,
    read_ahead: u64,
    /// The next piece.
    piece: usize,
    /// What of the current piece has not been read.
    unread: Extent,
    /// What has been read of it; from `at` on, not yet used.
    buffer: Vec<u8>,
    at: usize,
    body: Body,
    scratch: Vec<u8>,
    scan: Scan,
    /// Blocks begun so far, and entries handed out of the last.
    blocks: u32,
    slots: u32,
    /// Where the last one lies.
    block: Location,
    entries: u64,
}

/// Where the body of the current block is.
enum Body {
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
            body: Body::Buffer(0..0),
            scratch: Vec::new(),
            scan: Scan::new(run.base),
            blocks: 0,
            slots: 0,
            block: Location { offset: 0, len: 0 },
            entries: 0,
        }
    }

    /// The next entry; `None` when all that the footer counts have been handed out.
    pub fn next(&mut self) -> Result<Option<Entry<'_>>> {
        Ok(self.next_with_spot()?.map(|(_, entry)| entry))
    }

    /// The next entry and where in the run it lies.
    pub fn next_with_spot(&mut self) -> Result<Option<(Spot, Entry<'_>)>> {
        let Some(slot) = self.advance()? else { return Ok(None) };
        self.slots += 1;
        self.entries += 1;
        Ok(Some((Spot::new(self.blocks - 1, self.slots - 1), slot.entry(self.body()))))
    }

    /// Where the block of the last entry lies, without the gap behind it.
    pub fn block(&self) -> Location {
        self.block
    }

    fn advance(&mut self) -> Result<Option<Slot>> {
        loop {
            let body = match &self.body {
                Body::Buffer(range) => &self.buffer[range.clone()],
                Body::Scratch => &self.scratch[..],
            };
            match self.scan.next(body) {
                Ok(Some(slot)) if self.slots <= 0xff => return Ok(Some(slot)),
                Ok(None) => {}
                _ => return Err(self.run.file.corrupt(self.block.offset, super::entries::Malformed::WHAT)),
            }
            if !self.next_block()? {
                return self.check_end().map(|()| None);
            }
        }
    }

    fn body(&self) -> &[u8] {
        match &self.body {
            Body::Buffer(range) => &self.buffer[range.clone()],
            Body::Scratch => &self.scratch,
        }
    }

    fn check_end(&self) -> Result<()> {
        if (self.blocks, self.entries) == (self.run.blocks(), self.run.entries) {
            return Ok(());
        }
        let (run, blocks, entries) = (self.run, self.blocks, self.entries);
        let what = format!(
            "the run's footer counts {} entries in {} blocks, but {entries} in {blocks} are there",
            run.entries,
            run.blocks()
        );
        Err(run.file.corrupt(run.footer.offset, what))
    }

    /// Makes the next block the current one; false if there is none.
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
        let corrupt = |what| self.run.file.corrupt(offset, what);
        let len = Frame::parse_header(&self.buffer[self.at..]).map_err(corrupt)?.block_bytes;
        self.fill(len)?;
        let corrupt = |what| self.run.file.corrupt(offset, what);
        let Some(bytes) = self.buffer.get(self.at..self.at + len as usize) else {
            return Err(corrupt(format!("the block says it has {len} bytes, which end after its piece")));
        };
        let frame = Frame::parse(bytes).map_err(corrupt)?;
        self.body = match frame.plain_body() {
            Some(range) => Body::Buffer(self.at + range.start..self.at + range.end),
            None => {
                frame.expand(bytes, &mut self.scratch).map_err(corrupt)?;
                Body::Scratch
            }
        };
        self.at += len as usize;
        self.scan = Scan::new(self.run.base);
        (self.blocks, self.slots, self.block) = (self.blocks + 1, 0, Location { offset, len });
        Ok(true)
    }

    /// Goes to the next page, if only zeros are before it.
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

    /// Where in the file the next byte lies.
    fn position(&self) -> u64 {
        self.unread.offset - (self.buffer.len() - self.at) as u64
    }

    /// Reads on until `need` bytes are there to be used, or the piece is at its end.
    fn fill(&mut self, need: u64) -> Result<()> {
        let have = (self.buffer.len() - self.at) as u64;
        if have >= need || self.unread.len == 0 {
            return Ok(());
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        // A length that no checksum covers yet asks for no more than there is.
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
