//! A run in a file: opening it, and finding a key in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Order;
use super::block::Block;
use super::cache::BlockCache;
use super::cursor::RunCursor;
use super::entries::Malformed;
use super::fences::Fences;
use super::file::{DataFile, Extent};
use super::footer::Footer;
use super::hashes::Hashes;
use super::key_index::KeyIndex;
use super::logged::LoggedReader;
use super::permutation::Permutation;
use super::reader::{BlockReader, RunReader};
use super::value::Value;
use crate::entry::{Kind, RangeDelete, Sequence};
use crate::error::{Error, Result};

/// What finding an entry's block in the cache costs, in bytes as [`Run::scan_cost`] has them.
pub(super) const HIT_COST: u64 = 256;
/// What reading the block costs: between what it does from the page cache, a few KiB, and from flash, some 80.
pub(crate) const MISS_COST: u64 = 16 << 10;

/// A set of entries in a data file, which never changes.
pub(crate) struct Run {
    pub file: Arc<DataFile>,
    /// Where its footer lies: what the manifest keeps of it.
    pub footer: Extent,
    pub order: Order,
    pub entries: u64,
    pub deletes: u64,
    /// Keys and values of all entries.
    pub user_bytes: u64,
    /// All it takes in the file, footer and padding included.
    pub stored_bytes: u64,
    /// The lowest and the highest key of its entries; range deletes may reach beyond.
    pub low: Box<[u8]>,
    pub high: Box<[u8]>,
    /// The lowest and the highest sequence of entries and range deletes.
    pub sequences: (Sequence, Sequence),
    pub range_deletes: Box<[RangeDelete]>,
    pub(super) base: Sequence,
    pub(super) pieces: Box<[Extent]>,
    pub(super) pages: Option<Extent>,
    pub(super) permutation: Option<Permutation>,
    pub(super) fences: Fences,
    pub(super) key_index: KeyIndex,
    scan_cost: AtomicU64,
}

/// The newest version of a key that a snapshot sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub sequence: Sequence,
    pub kind: Kind,
    /// Empty for [`Kind::Delete`].
    pub value: Value,
    /// Whether its block was in the cache.
    pub was_here: bool,
}

impl Run {
    pub(super) fn new(file: Arc<DataFile>, extent: Extent, footer: Footer) -> Self {
        let pages = footer.pages();
        let blocks: u64 = footer.pieces.iter().map(|piece| piece.len).sum();
        Self {
            file,
            footer: extent,
            order: footer.order,
            entries: footer.entries,
            deletes: footer.deletes,
            user_bytes: footer.user_bytes,
            stored_bytes: blocks + pages.map_or(0, |pages| pages.len) + extent.len,
            low: footer.low,
            high: footer.high,
            sequences: footer.sequences,
            range_deletes: footer.range_deletes,
            base: footer.base,
            pieces: footer.pieces,
            pages,
            permutation: footer.permutation,
            fences: footer.fences,
            key_index: footer.key_index,
            scan_cost: AtomicU64::new(0),
        }
    }

    /// Opens the run whose footer lies in `footer`.
    pub fn open(file: Arc<DataFile>, footer: Extent) -> Result<(Self, Hashes)> {
        let (content, hashes) = Footer::read(&file, footer)?;
        let run = Self::new(file, footer, content);
        let hashes = if run.order == Order::Log { run.logged_hashes()? } else { hashes };
        Ok((run, hashes))
    }

    /// The newest version of `key`, whose hash is `hash`, with a sequence up to `snapshot`. Range deletes are the
    /// caller's to apply.
    #[inline]
    pub fn get(&self, cache: &BlockCache, hash: u64, key: &[u8], snapshot: Sequence) -> Result<Option<Found>> {
        match self.order {
            Order::Hash => {}
            Order::Key => return self.get_by_key(cache, key, snapshot),
            Order::Log => return self.get_logged(cache, hash, key, snapshot),
        }
        for location in self.fences.candidates(hash) {
            let read = cache.entries(&self.file, location, self.base)?;
            if let Some(found) = self.search(read, location.offset, key, snapshot)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Looks for a key in a block that was in the cache, or not.
    pub(super) fn search(
        &self,
        (block, was_here): (Block, bool),
        offset: u64,
        key: &[u8],
        snapshot: Sequence,
    ) -> Result<Option<Found>> {
        match block.search(self.base, key, snapshot) {
            Ok(None) => Ok(None),
            Ok(Some(slot)) => {
                let value = block.value(slot.value_start(), slot.value_len);
                Ok(Some(Found { sequence: slot.sequence, kind: slot.kind, value, was_here }))
            }
            Err(malformed) => Err(self.malformed(malformed, offset)),
        }
    }

    pub(super) fn malformed(&self, _: Malformed, offset: u64) -> Error {
        self.file.corrupt(offset, Malformed::WHAT)
    }

    /// Goes through all entries in stored order with reads of about `read_ahead` bytes, past the cache.
    pub fn read_all(&self, read_ahead: usize) -> RunReader<'_> {
        match self.order {
            Order::Log => RunReader::Logged(LoggedReader::new(self)),
            Order::Hash | Order::Key => RunReader::Blocks(BlockReader::new(self, read_ahead)),
        }
    }

    /// A cursor in key order. A hash-ordered run without permutation gets a sorted view, which the cache keeps.
    pub fn cursor(self: &Arc<Self>, cache: &Arc<BlockCache>) -> Result<RunCursor> {
        RunCursor::new(self.clone(), cache.clone())
    }

    /// Takes note of what a cursor cost.
    pub fn add_scan_cost(&self, more: u64) {
        self.scan_cost.fetch_add(more, Ordering::Relaxed);
    }

    /// What cursors cost, until they were dropped, since the run was written or opened: in bytes that could have been
    /// read or written one after another meanwhile, about.
    pub fn scan_cost(&self) -> u64 {
        self.scan_cost.load(Ordering::Relaxed)
    }

    /// Everything that can be punched when the run is dead, in the file's order.
    pub fn extents(&self) -> Vec<Extent> {
        let all = self.pieces.iter().copied().chain(self.pages).chain([self.footer]);
        let mut extents: Vec<Extent> = Vec::new();
        for extent in all {
            match extents.last_mut() {
                Some(last) if last.end() == Some(extent.offset) => last.len += extent.len,
                _ => extents.push(extent),
            }
        }
        extents
    }

    pub(super) fn blocks(&self) -> u32 {
        match self.order {
            Order::Hash | Order::Log => self.fences.blocks(),
            Order::Key => self.key_index.blocks(),
        }
    }

    /// What it keeps in memory: fences or index, samples, bounds, places.
    pub fn memory_bytes(&self) -> u64 {
        let range_delete = |range: &RangeDelete| size_of::<RangeDelete>() + range.low.len() + range.high.len();
        let small = self.low.len() + self.high.len() + size_of_val(&*self.pieces);
        let range_deletes: usize = self.range_deletes.iter().map(range_delete).sum();
        let samples = self.permutation.as_ref().map_or(0, |permutation| permutation.samples.memory_bytes());
        (size_of::<Self>() + small + range_deletes) as u64
            + samples
            + self.fences.memory_bytes()
            + self.key_index.memory_bytes()
    }

    /// A page that is none although its checksum is right.
    pub(super) fn bad_page(&self, offset: u64) -> Error {
        self.file.corrupt(offset, "the page's checksum is right, but its content makes no sense")
    }
}
