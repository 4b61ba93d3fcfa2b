//! The key order of a hash-ordered run: for each entry in key order, its block << 8 | its number in the block.
//!
//! It lies in the file in pages, each a block of its own, read through the cache. Every 256th key stays in memory, so
//! that a search reads few of them.

use std::io;

use super::block::{BlockEncoder, Location, padded};
use super::file::Extent;
use super::keys::Keys;
use crate::codec::{Input, put_varint};

/// Ranks on a page of 4 KiB.
pub(crate) const PAGE_RANKS: u64 = 1024;
/// Every so many entries in key order, one key stays in memory.
pub(crate) const SAMPLE_RANKS: u64 = 256;
/// A page on disk but the last: length, compression, ranks, checksum, padding.
const PAGE_BYTES: u64 = (5 + PAGE_RANKS * 4 + 4).next_multiple_of(16);

/// Where an entry lies in its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spot(pub u32);

impl Spot {
    /// The most blocks that a run may have.
    pub const BLOCKS_MAX: u32 = 1 << 24;

    pub fn new(block: u32, slot: u32) -> Self {
        debug_assert!(block < Self::BLOCKS_MAX && slot < 256);
        Self(block << 8 | slot)
    }

    pub fn block(self) -> u32 {
        self.0 >> 8
    }

    pub fn slot(self) -> u32 {
        self.0 & 0xff
    }
}

/// The permutation of a run, but for its pages.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Permutation {
    /// Where its pages lie.
    pub pages: Extent,
    pub entries: u64,
    /// The keys at ranks 0, 256, 512, …
    pub samples: Keys,
}

impl Permutation {
    /// Where the page with `rank` lies, and which of its ranks that is.
    pub fn page(&self, rank: u64) -> (Location, usize) {
        let page = rank / PAGE_RANKS;
        let ranks = (self.entries - page * PAGE_RANKS).min(PAGE_RANKS);
        let location = Location { offset: self.pages.offset + page * PAGE_BYTES, len: padded(5 + ranks * 4 + 4) };
        (location, (rank % PAGE_RANKS) as usize)
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.pages.offset);
        put_varint(out, self.pages.len);
        self.samples.encode(out);
    }

    pub fn decode(input: &mut Input<'_>, entries: u64) -> Option<Self> {
        let pages = Extent { offset: input.varint()?, len: input.varint()? };
        let samples = Keys::decode(input)?;
        let whole = pages.len == pages_bytes(entries) && samples.len() as u64 == entries.div_ceil(SAMPLE_RANKS);
        whole.then_some(Self { pages, entries, samples })
    }
}

fn pages_bytes(entries: u64) -> u64 {
    match entries % PAGE_RANKS {
        0 => entries / PAGE_RANKS * PAGE_BYTES,
        last => entries / PAGE_RANKS * PAGE_BYTES + padded(5 + last * 4 + 4),
    }
}

/// The spot in a page's body.
pub(crate) fn spot_on_page(body: &[u8], index: usize) -> Option<Spot> {
    Input::new(body.get(index * 4..)?).u32().map(Spot)
}

/// Gathers the keys of a run's entries, in stored order.
#[derive(Default)]
pub(crate) struct PermutationBuilder {
    keys: Keys,
    spots: Vec<Spot>,
}

impl PermutationBuilder {
    pub fn push(&mut self, key: &[u8], spot: Spot) {
        self.keys.push(key);
        self.spots.push(spot);
    }

    /// All spots in key order, and each `interval`th key. Versions of a key lie newest first in stored order already,
    /// so equal keys keep it.
    pub fn sort(self, interval: u64) -> (Vec<Spot>, Keys) {
        let sorted = self.keys.sorted();
        let mut samples = Keys::default();
        sorted.iter().step_by(interval as usize).for_each(|number| samples.push(self.keys.get(*number as usize)));
        samples.shrink();
        (sorted.iter().map(|number| self.spots[*number as usize]).collect(), samples)
    }

    /// Appends the pages to `out`, which will lie at `offset` in the file.
    pub fn finish(self, encoder: &mut BlockEncoder, offset: u64, out: &mut Vec<u8>) -> io::Result<Permutation> {
        let (spots, samples) = self.sort(SAMPLE_RANKS);
        let begin = out.len();
        let mut body = Vec::with_capacity(PAGE_RANKS as usize * 4);
        for page in spots.chunks(PAGE_RANKS as usize) {
            body.clear();
            page.iter().for_each(|spot| body.extend_from_slice(&spot.0.to_le_bytes()));
            encoder.encode(&body, out)?;
        }
        let pages = Extent { offset, len: (out.len() - begin) as u64 };
        Ok(Permutation { pages, entries: spots.len() as u64, samples })
    }
}
