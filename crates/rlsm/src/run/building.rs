//! A run that is being written.

use std::cmp::Ordering;
use std::io;

use super::Order;
use super::block::{BlockEncoder, Compression, FRAME_BYTES, Location, gap_to_page, with_gap};
use super::entries::{ENTRIES_MAX, EntryEncoder};
use super::fences::{Fences, FencesBuilder};
use super::file::Extent;
use super::footer::Footer;
use super::hashes::Hashes;
use super::key_index::{KeyIndex, KeyIndexBuilder, separator};
use super::permutation::{PermutationBuilder, Spot};
use super::writer::Output;
use crate::entry::{Entry, KEY_BYTES_MAX, Kind, RangeDelete, Sequence, VALUE_BYTES_MAX};
use crate::error::{Error, Result};

/// A block of fewer entries goes on up to this many times its usual size, so that its fence costs little per entry.
pub(crate) const ENTRIES_FEW: u32 = 8;
const OVERSIZE: usize = 4;
/// Sequences are stored from the base on, with one more bit.
const SPAN_MAX: u64 = 1 << 62;

/// A block that is encoded, but not in the file yet: so its place is not known.
struct PendingBlock {
    len: u64,
    first_hash: u32,
    separator: Box<[u8]>,
    continued: bool,
}

/// The last entry pushed.
#[derive(Default)]
struct Last {
    hash: u64,
    key: Vec<u8>,
    sequence: Sequence,
}

/// What is gathered of a run.
pub(crate) struct Building {
    base: Sequence,
    footer: Footer,
    hashes: Hashes,
    last: Last,
    block: Vec<u8>,
    block_entries: u32,
    /// Of the open block, its place still empty.
    opened: PendingBlock,
    encoder: EntryEncoder,
    blocks: u32,
    piece: Vec<u8>,
    pending: Vec<PendingBlock>,
    pieces: Vec<Extent>,
    range_deletes: Vec<RangeDelete>,
    fences: FencesBuilder,
    key_index: KeyIndexBuilder,
    permutation: Option<PermutationBuilder>,
}

impl PendingBlock {
    fn empty() -> Self {
        Self { len: 0, first_hash: 0, separator: Box::default(), continued: false }
    }
}

impl Building {
    pub fn new(order: Order, with_permutation: bool, base: Sequence) -> Self {
        let footer = Footer {
            order,
            entries: 0,
            deletes: 0,
            user_bytes: 0,
            base,
            sequences: (Sequence::MAX, 0),
            low: Box::default(),
            high: Box::default(),
            range_deletes: Box::default(),
            pieces: Box::default(),
            permutation: None,
            index: None,
            fences: Fences::default(),
            key_index: KeyIndex::default(),
        };
        Self {
            base,
            footer,
            hashes: Hashes::default(),
            last: Last::default(),
            block: Vec::new(),
            block_entries: 0,
            opened: PendingBlock::empty(),
            encoder: EntryEncoder::default(),
            blocks: 0,
            piece: Vec::new(),
            pending: Vec::new(),
            pieces: Vec::new(),
            range_deletes: Vec::new(),
            fences: FencesBuilder::default(),
            key_index: KeyIndexBuilder::default(),
            permutation: with_permutation.then(PermutationBuilder::default),
        }
    }

    pub fn push(&mut self, hash: u64, entry: Entry<'_>) -> Result<()> {
        self.check(hash, &entry).map_err(|what| Error::Invalid { what })?;
        if self.block_entries == 0 {
            self.open_block(hash, &entry);
        }
        self.encoder.push(&mut self.block, &entry, self.base);
        if let Some(permutation) = &mut self.permutation {
            permutation.push(entry.key, Spot::new(self.blocks, self.block_entries));
        }
        self.block_entries += 1;
        self.hashes.0.push(Hashes::top(hash));
        self.count(&entry);
        self.last.hash = hash;
        self.last.sequence = entry.sequence;
        self.last.key.clear();
        self.last.key.extend_from_slice(entry.key);
        Ok(())
    }

    fn check(&self, hash: u64, entry: &Entry<'_>) -> std::result::Result<(), String> {
        if entry.key.len() > KEY_BYTES_MAX {
            return Err(format!("a key has {} bytes; {KEY_BYTES_MAX} is the most", entry.key.len()));
        }
        if entry.value.len() > VALUE_BYTES_MAX {
            return Err(format!("a value has {} bytes; {VALUE_BYTES_MAX} is the most", entry.value.len()));
        }
        if entry.sequence.checked_sub(self.base).is_none_or(|span| span >= SPAN_MAX) {
            return Err(format!("sequence {} is below {}, or too far above it", entry.sequence, self.base));
        }
        if self.blocks == Spot::BLOCKS_MAX {
            return Err(format!("a run has {} blocks; more do not fit", self.blocks));
        }
        let newer_last = entry.sequence.cmp(&self.last.sequence);
        let by_key = || self.last.key.as_slice().cmp(entry.key).then(newer_last);
        let order = match self.footer.order {
            Order::Hash => self.last.hash.cmp(&hash).then_with(by_key),
            Order::Key | Order::Log => by_key(),
        };
        if self.footer.entries > 0 && order != Ordering::Less {
            return Err(format!("the key `{}` comes out of order", entry.key.escape_ascii()));
        }
        Ok(())
    }

    fn open_block(&mut self, hash: u64, entry: &Entry<'_>) {
        let first = self.footer.entries == 0;
        self.encoder = EntryEncoder::default();
        self.opened.first_hash = Hashes::top(hash);
        if self.footer.order == Order::Key {
            self.opened.continued = !first && self.last.key == entry.key;
            self.opened.separator = if first { Box::default() } else { separator(&self.last.key, entry.key).into() };
        }
    }

    fn count(&mut self, entry: &Entry<'_>) {
        let footer = &mut self.footer;
        if footer.entries == 0 || entry.key < &*footer.low {
            footer.low = entry.key.into();
        }
        if footer.entries == 0 || entry.key > &*footer.high {
            footer.high = entry.key.into();
        }
        footer.entries += 1;
        footer.deletes += u64::from(entry.kind == Kind::Delete);
        footer.user_bytes += entry.user_bytes();
        footer.sequences.0 = footer.sequences.0.min(entry.sequence);
        footer.sequences.1 = footer.sequences.1.max(entry.sequence);
    }

    pub fn range_delete(&mut self, range_delete: RangeDelete) {
        let sequences = &mut self.footer.sequences;
        *sequences = (sequences.0.min(range_delete.sequence), sequences.1.max(range_delete.sequence));
        self.range_deletes.push(range_delete);
    }

    /// Whether the entry may come into the open block, which takes `block_bytes` at most before compression, if it has
    /// some entries.
    pub fn has_room(&self, entry: &Entry<'_>, block_bytes: usize) -> bool {
        match self.block_entries {
            0 => true,
            ENTRIES_MAX.. => false,
            few if few < ENTRIES_FEW => self.block.len() < OVERSIZE * block_bytes,
            _ => FRAME_BYTES + self.block.len() + self.encoder.len_of(entry, self.base) <= block_bytes,
        }
    }

    pub fn close_block(&mut self, encoder: &mut BlockEncoder) -> io::Result<()> {
        if self.block_entries == 0 {
            return Ok(());
        }
        self.opened.len = encoder.encode(&self.block, &mut self.piece)?;
        self.pending.push(std::mem::replace(&mut self.opened, PendingBlock::empty()));
        self.block.clear();
        self.block_entries = 0;
        self.blocks += 1;
        Ok(())
    }

    pub fn piece_bytes(&self) -> usize {
        self.piece.len()
    }

    /// Appends what is gathered to the file.
    pub fn write_piece(&mut self, output: &mut Output) -> Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let begin = output.len;
        // The piece with zeros before pages. One buffer serves all runs: each of them has a piece already.
        let mut with_gaps = std::mem::take(&mut output.buffer);
        with_gaps.clear();
        with_gaps.resize(gap_to_page(begin, self.piece.len() as u64) as usize, 0);
        let mut encoded = &self.piece[..];
        for block in self.pending.drain(..) {
            let offset = begin + with_gaps.len() as u64;
            let (bytes, behind) = encoded.split_at(block.len as usize);
            encoded = behind;
            with_gaps.extend_from_slice(bytes);
            let location = Location { offset, len: with_gap(offset, block.len) };
            with_gaps.resize((location.offset + location.len - begin) as usize, 0);
            match self.footer.order {
                Order::Hash | Order::Log => self.fences.push(block.first_hash, location),
                Order::Key => self.key_index.push(&block.separator, block.continued, location),
            }
        }
        self.piece.clear();
        let written = output.append(&with_gaps)?;
        output.buffer = with_gaps;
        match self.pieces.last_mut() {
            Some(last) if last.end() == Some(written.offset) => last.len += written.len,
            _ => self.pieces.push(Extent { offset: written.offset, len: written.len }),
        }
        Ok(())
    }

    /// Appends the run's pages and its footer; no other run's bytes come between.
    pub fn write_footer(self, output: &mut Output) -> Result<(Extent, Footer, Hashes)> {
        let (mut footer, mut hashes) = (self.footer, self.hashes);
        if footer.order == Order::Key {
            hashes.0.sort_unstable();
        }
        if footer.sequences.0 > footer.sequences.1 {
            footer.sequences = (0, 0);
        }
        footer.range_deletes = self.range_deletes.into();
        footer.pieces = self.pieces.into();
        footer.fences = self.fences.finish();
        let mut pages = Vec::new();
        let mut encoder = BlockEncoder::new(Compression::None).map_err(Error::io("writing pages of", &output.name))?;
        if let Some(permutation) = self.permutation {
            let written = permutation.finish(&mut encoder, output.len, &mut pages);
            footer.permutation = Some(written.map_err(Error::io("writing pages of", &output.name))?);
        }
        if footer.order == Order::Key {
            let written = self.key_index.finish(&mut encoder, output.len, &mut pages);
            footer.key_index = written.map_err(Error::io("writing pages of", &output.name))?;
        }
        if !pages.is_empty() {
            output.append(&pages)?;
        }
        let written = output.append(&footer.encode(output.len, &hashes))?;
        Ok((Extent { offset: written.offset, len: written.len }, footer, hashes))
    }
}
