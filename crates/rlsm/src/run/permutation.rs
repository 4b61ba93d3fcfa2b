//! Permutations: the key order of a hash-ordered run, as the addresses of its entries in key order.
//!
//! In the file it is divided into pages, blocks of their own, which are read through the cache. Every 256th key stays
//! in memory, so that a search reads few pages.

use std::io;

use super::block::{BlockEncoder, BlockHandle, padded};
use super::file::Extent;
use super::keys::KeyList;
use crate::codec::{ByteReader, put_varint};

/// Ranks on a page of 4 KiB.
pub(crate) const PAGE_RANKS: u64 = 1024;
/// The distance of the keys that stay in memory.
pub(crate) const SAMPLE_RANKS: u64 = 256;
/// The size of a full page on disk: length, compression, ranks, checksum, padding.
const PAGE_BYTES: u64 = (5 + PAGE_RANKS * 4 + 4).next_multiple_of(16);

/// The address of an entry in its run: block << 8 | number in the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryAddress(pub u32);

impl EntryAddress {
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

/// A permutation, without its pages.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Permutation {
    /// The extent of the pages.
    pub pages: Extent,
    pub entries: u64,
    /// The keys at ranks 0, 256, 512, …
    pub samples: KeyList,
}

impl Permutation {
    /// The page with `rank`, and the index of the rank on it.
    pub fn page(&self, rank: u64) -> (BlockHandle, usize) {
        let page = rank / PAGE_RANKS;
        let ranks = (self.entries - page * PAGE_RANKS).min(PAGE_RANKS);
        let handle = BlockHandle { offset: self.pages.offset + page * PAGE_BYTES, len: padded(5 + ranks * 4 + 4) };
        (handle, (rank % PAGE_RANKS) as usize)
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.pages.offset);
        put_varint(out, self.pages.len);
        self.samples.encode(out);
    }

    pub fn decode(input: &mut ByteReader<'_>, entries: u64) -> Option<Self> {
        let pages = Extent { offset: input.varint()?, len: input.varint()? };
        let samples = KeyList::decode(input)?;
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

/// The address at an index of a page's body.
pub(crate) fn address_on_page(body: &[u8], index: usize) -> Option<EntryAddress> {
    ByteReader::new(body.get(index * 4..)?).u32().map(EntryAddress)
}

/// Collects the keys of a run's entries, in stored order.
#[derive(Default)]
pub(crate) struct PermutationBuilder {
    keys: KeyList,
    addresses: Vec<EntryAddress>,
}

impl PermutationBuilder {
    pub fn push(&mut self, key: &[u8], address: EntryAddress) {
        self.keys.push(key);
        self.addresses.push(address);
    }

    /// All addresses in key order, and every `interval`th key. Versions of a key are stored newest first, and equal
    /// keys keep their order.
    pub fn sort(self, interval: u64) -> (Vec<EntryAddress>, KeyList) {
        let sorted = self.keys.sorted();
        let mut samples = KeyList::default();
        sorted.iter().step_by(interval as usize).for_each(|number| samples.push(self.keys.get(*number as usize)));
        samples.shrink();
        (sorted.iter().map(|number| self.addresses[*number as usize]).collect(), samples)
    }

    /// Appends the pages to `out`, for this offset in the file.
    pub fn finish(self, encoder: &mut BlockEncoder, offset: u64, out: &mut Vec<u8>) -> io::Result<Permutation> {
        let (addresses, samples) = self.sort(SAMPLE_RANKS);
        let begin = out.len();
        let mut body = Vec::with_capacity(PAGE_RANKS as usize * 4);
        for page in addresses.chunks(PAGE_RANKS as usize) {
            body.clear();
            page.iter().for_each(|address| body.extend_from_slice(&address.0.to_le_bytes()));
            encoder.encode(&body, out)?;
        }
        let pages = Extent { offset, len: (out.len() - begin) as u64 };
        Ok(Permutation { pages, entries: addresses.len() as u64, samples })
    }
}
