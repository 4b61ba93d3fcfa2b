//! Building a run.

use std::cmp::Ordering;
use std::io;

use super::Order;
use super::block::{BlockEncoder, BlockHandle, Compression, FRAME_BYTES, gap_to_page, with_gap};
use super::entries::{ENTRIES_MAX, EntryEncoder};
use super::fences::{Fences, FencesBuilder};
use super::file::Extent;
use super::footer::Footer;
use super::hashes::HashColumn;
use super::key_index::{KeyIndex, KeyIndexBuilder, separator};
use super::output::DataFileOutput;
use super::permutation::{EntryAddress, PermutationBuilder};
use crate::entry::{Entry, EntryKind, KEY_BYTES_MAX, RangeTombstone, SequenceNumber, VALUE_BYTES_MAX};
use crate::error::{Error, Result};

/// A block with fewer entries may exceed its usual size, so that its fence pointer costs little per entry.
pub(crate) const BLOCK_ENTRIES_MIN: u32 = 8;
const OVERSIZE_FACTOR: usize = 4;
/// Sequence numbers are stored relative to the base, with one more bit.
const SPAN_MAX: u64 = 1 << 62;

/// A block that is encoded, but not written, so that its offset is not known.
struct PendingBlock {
    len: u64,
    first_hash: u32,
    separator: Box<[u8]>,
    continued: bool,
}

/// The last entry that was pushed.
#[derive(Default)]
struct LastEntry {
    hash: u64,
    key: Vec<u8>,
    sequence: SequenceNumber,
}

/// A run under construction.
pub(crate) struct RunBuilder {
    base: SequenceNumber,
    footer: Footer,
    hashes: HashColumn,
    last: LastEntry,
    block: Vec<u8>,
    block_entries: u32,
    /// The open block, without its length.
    opened: PendingBlock,
    encoder: EntryEncoder,
    blocks: u32,
    piece: Vec<u8>,
    pending: Vec<PendingBlock>,
    pieces: Vec<Extent>,
    range_tombstones: Vec<RangeTombstone>,
    fences: FencesBuilder,
    key_index: KeyIndexBuilder,
    permutation: Option<PermutationBuilder>,
}

impl PendingBlock {
    fn empty() -> Self {
        Self { len: 0, first_hash: 0, separator: Box::default(), continued: false }
    }
}

impl RunBuilder {
    pub fn new(order: Order, with_permutation: bool, base: SequenceNumber) -> Self {
        let footer = Footer {
            order,
            entries: 0,
            deletes: 0,
            user_bytes: 0,
            base,
            sequences: (SequenceNumber::MAX, 0),
            low: Box::default(),
            high: Box::default(),
            range_tombstones: Box::default(),
            pieces: Box::default(),
            permutation: None,
            index: None,
            fences: Fences::default(),
            key_index: KeyIndex::default(),
        };
        Self {
            base,
            footer,
            hashes: HashColumn::default(),
            last: LastEntry::default(),
            block: Vec::new(),
            block_entries: 0,
            opened: PendingBlock::empty(),
            encoder: EntryEncoder::default(),
            blocks: 0,
            piece: Vec::new(),
            pending: Vec::new(),
            pieces: Vec::new(),
            range_tombstones: Vec::new(),
            fences: FencesBuilder::default(),
            key_index: KeyIndexBuilder::default(),
            permutation: with_permutation.then(PermutationBuilder::default),
        }
    }

    pub fn push(&mut self, hash: u64, entry: Entry<'_>) -> Result<()> {
        self.check(hash, &entry).map_err(|problem| Error::Invalid { problem })?;
        if self.block_entries == 0 {
            self.open_block(hash, &entry);
        }
        self.encoder.push(&mut self.block, &entry, self.base);
        if let Some(permutation) = &mut self.permutation {
            permutation.push(entry.key, EntryAddress::new(self.blocks, self.block_entries));
        }
        self.block_entries += 1;
        self.hashes.0.push(HashColumn::top(hash));
        self.count(&entry);
        self.last.hash = hash;
        self.last.sequence = entry.sequence;
        self.last.key.clear();
        self.last.key.extend_from_slice(entry.key);
        Ok(())
    }

    fn check(&self, hash: u64, entry: &Entry<'_>) -> std::result::Result<(), String> {
        if entry.key.len() > KEY_BYTES_MAX {
            return Err(format!("a key has {} bytes; at most {KEY_BYTES_MAX} are allowed", entry.key.len()));
        }
        if entry.value.len() > VALUE_BYTES_MAX {
            return Err(format!("a value has {} bytes; at most {VALUE_BYTES_MAX} are allowed", entry.value.len()));
        }
        if entry.sequence.checked_sub(self.base).is_none_or(|span| span >= SPAN_MAX) {
            return Err(format!(
                "sequence number {} is below the base {}, or too far above it",
                entry.sequence, self.base
            ));
        }
        if self.blocks == EntryAddress::BLOCKS_MAX {
            return Err(format!("a run has {} blocks, the maximum", self.blocks));
        }
        let newer_last = entry.sequence.cmp(&self.last.sequence);
        let by_key = || self.last.key.as_slice().cmp(entry.key).then(newer_last);
        let order = match self.footer.order {
            Order::Hash => self.last.hash.cmp(&hash).then_with(by_key),
            Order::Key | Order::Log => by_key(),
        };
        if self.footer.entries > 0 && order != Ordering::Less {
            return Err(format!("the key `{}` is out of order", entry.key.escape_ascii()));
        }
        Ok(())
    }

    fn open_block(&mut self, hash: u64, entry: &Entry<'_>) {
        let first = self.footer.entries == 0;
        self.encoder = EntryEncoder::default();
        self.opened.first_hash = HashColumn::top(hash);
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
        footer.deletes += u64::from(entry.kind == EntryKind::Delete);
        footer.user_bytes += entry.user_bytes();
        footer.sequences.0 = footer.sequences.0.min(entry.sequence);
        footer.sequences.1 = footer.sequences.1.max(entry.sequence);
    }

    pub fn range_delete(&mut self, range_delete: RangeTombstone) {
        let sequences = &mut self.footer.sequences;
        *sequences = (sequences.0.min(range_delete.sequence), sequences.1.max(range_delete.sequence));
        self.range_tombstones.push(range_delete);
    }

    /// Whether the entry fits into the open block, whose limit is `block_bytes` before compression.
    pub fn has_room(&self, entry: &Entry<'_>, block_bytes: usize) -> bool {
        match self.block_entries {
            0 => true,
            ENTRIES_MAX.. => false,
            few if few < BLOCK_ENTRIES_MIN => self.block.len() < OVERSIZE_FACTOR * block_bytes,
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

    /// Appends the finished blocks to the file as one piece.
    pub fn write_piece(&mut self, output: &mut DataFileOutput) -> Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let begin = output.len;
        // The piece with padding. One buffer serves all runs.
        let mut with_gaps = std::mem::take(&mut output.buffer);
        with_gaps.clear();
        with_gaps.resize(gap_to_page(begin, self.piece.len() as u64) as usize, 0);
        let mut encoded = &self.piece[..];
        for block in self.pending.drain(..) {
            let offset = begin + with_gaps.len() as u64;
            let (bytes, tail) = encoded.split_at(block.len as usize);
            encoded = tail;
            with_gaps.extend_from_slice(bytes);
            let handle = BlockHandle { offset, len: with_gap(offset, block.len) };
            with_gaps.resize((handle.offset + handle.len - begin) as usize, 0);
            match self.footer.order {
                Order::Hash | Order::Log => self.fences.push(block.first_hash, handle),
                Order::Key => self.key_index.push(&block.separator, block.continued, handle),
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

    /// Appends the run's pages and its footer, adjacent to each other.
    pub fn write_footer(self, output: &mut DataFileOutput) -> Result<(Extent, Footer, HashColumn)> {
        let (mut footer, mut hashes) = (self.footer, self.hashes);
        if footer.order == Order::Key {
            hashes.0.sort_unstable();
        }
        if footer.sequences.0 > footer.sequences.1 {
            footer.sequences = (0, 0);
        }
        footer.range_tombstones = self.range_tombstones.into();
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
