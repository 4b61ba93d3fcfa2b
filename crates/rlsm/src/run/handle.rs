//! The handle of a run: the content of its footer, and what is kept in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Order;
use super::entries::MalformedBlock;
use super::fences::Fences;
use super::file::{DataFile, Extent};
use super::footer::Footer;
use super::key_index::KeyIndex;
use super::permutation::Permutation;
use crate::entry::{RangeTombstone, SequenceNumber};
use crate::error::Error;

/// A run: an immutable set of entries in a file.
pub(crate) struct Run {
    pub file: Arc<DataFile>,
    /// The extent of the footer, by which the manifest refers to the run.
    pub footer: Extent,
    pub order: Order,
    pub entries: u64,
    pub deletes: u64,
    /// Keys and values of all entries, in bytes.
    pub user_bytes: u64,
    /// Bytes that the run takes in the file, footer and padding included.
    pub stored_bytes: u64,
    /// The lowest and the highest key of its entries. Range tombstones may reach beyond.
    pub low: Box<[u8]>,
    pub high: Box<[u8]>,
    /// The lowest and the highest sequence number of entries and range tombstones.
    pub sequences: (SequenceNumber, SequenceNumber),
    pub range_tombstones: Box<[RangeTombstone]>,
    pub(super) base: SequenceNumber,
    pub(super) pieces: Box<[Extent]>,
    pub(super) pages: Option<Extent>,
    pub(super) permutation: Option<Permutation>,
    pub(super) fences: Fences,
    pub(super) key_index: KeyIndex,
    scan_cost: AtomicU64,
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
            range_tombstones: footer.range_tombstones,
            base: footer.base,
            pieces: footer.pieces,
            pages,
            permutation: footer.permutation,
            fences: footer.fences,
            key_index: footer.key_index,
            scan_cost: AtomicU64::new(0),
        }
    }

    pub(super) fn malformed(&self, _: MalformedBlock, offset: u64) -> Error {
        self.file.corrupt(offset, MalformedBlock::WHAT)
    }

    /// Adds the cost of a scan.
    pub fn add_scan_cost(&self, more: u64) {
        self.scan_cost.fetch_add(more, Ordering::Relaxed);
    }

    /// What scans have lost in this run since it was written or opened, as bytes that could have been read or written
    /// sequentially in the same time. A cursor adds its cost when it is dropped.
    pub fn scan_cost(&self) -> u64 {
        self.scan_cost.load(Ordering::Relaxed)
    }

    /// The extents of the run in file order: holes are punched there once it is obsolete.
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

    /// Memory of the handle: fence pointers or index, key samples, bounds, extents.
    pub fn memory_bytes(&self) -> u64 {
        let range_delete = |range: &RangeTombstone| size_of::<RangeTombstone>() + range.low.len() + range.high.len();
        let small = self.low.len() + self.high.len() + size_of_val(&*self.pieces);
        let range_tombstones: usize = self.range_tombstones.iter().map(range_delete).sum();
        let samples = self.permutation.as_ref().map_or(0, |permutation| permutation.samples.memory_bytes());
        (size_of::<Self>() + small + range_tombstones) as u64
            + samples
            + self.fences.memory_bytes()
            + self.key_index.memory_bytes()
    }

    /// The error for a page that is invalid although its checksum is right.
    pub(super) fn bad_page(&self, offset: u64) -> Error {
        self.file.corrupt(offset, "the page's checksum is right, but its content is invalid")
    }
}
