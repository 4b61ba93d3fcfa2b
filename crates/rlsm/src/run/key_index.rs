//! The index of a key-ordered run: a separator key for each block, in pages that are read through the cache; of each
//! page the first separator stays in memory.
//!
//! A separator is the shortest key above all of the block before and not above any of its own block. A block that goes
//! on with versions of the key that ended the block before is marked; its separator is that key.

use std::io;

use super::block::{BlockEncoder, Location, UNIT_BYTES};
use super::file::Extent;
use super::keys::Keys;
use crate::codec::{Input, put_varint};

const PAGE_BYTES: usize = 4096;

/// What is known of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Item<'a> {
    pub separator: &'a [u8],
    /// Its first entry has the key of the entry before it.
    pub continued: bool,
    pub location: Location,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Page {
    location: Location,
    first_block: u32,
}

/// The part that stays in memory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyIndex {
    /// The first separator of each page.
    tops: Keys,
    pages: Vec<Page>,
    blocks: u32,
}

impl KeyIndex {
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    pub fn memory_bytes(&self) -> u64 {
        self.tops.memory_bytes() + (self.pages.capacity() * size_of::<Page>()) as u64
    }

    /// The page that the last block with a separator up to `key` is on.
    pub fn page_of_key(&self, key: &[u8]) -> usize {
        self.tops.partition_point(|top| top <= key).saturating_sub(1)
    }

    /// The page of a block.
    pub fn page_of_block(&self, block: u32) -> usize {
        self.pages.partition_point(|page| page.first_block <= block).saturating_sub(1)
    }

    pub fn location(&self, page: usize) -> Option<Location> {
        self.pages.get(page).map(|page| page.location)
    }

    pub fn first_block(&self, page: usize) -> u32 {
        self.pages.get(page).map_or(self.blocks, |page| page.first_block)
    }

    /// Where all pages lie.
    pub fn extent(&self) -> Extent {
        let offset = self.pages.first().map_or(0, |page| page.location.offset);
        let end = self.pages.last().map_or(0, |page| page.location.offset + page.location.len);
        Extent { offset, len: end - offset }
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        self.tops.encode(out);
        put_varint(out, self.extent().offset);
        for (index, page) in self.pages.iter().enumerate() {
            put_varint(out, page.location.len);
            put_varint(out, u64::from(self.first_block(index + 1) - page.first_block));
        }
    }

    pub fn decode(input: &mut Input<'_>) -> Option<Self> {
        let tops = Keys::decode(input)?;
        let (mut offset, mut blocks) = (input.varint()?, 0u32);
        let mut pages = Vec::with_capacity(tops.len());
        for _ in 0..tops.len() {
            let (len, count) = (input.varint()?, u32::try_from(input.varint()?).ok()?);
            pages.push(Page { location: Location { offset, len }, first_block: blocks });
            (offset, blocks) = (offset.checked_add(len)?, blocks.checked_add(count)?);
            if len == 0 || count == 0 {
                return None;
            }
        }
        Some(Self { tops, pages, blocks })
    }
}

/// The items of a page, by number.
#[derive(Clone, Copy)]
pub(crate) struct IndexPage<'a> {
    body: &'a [u8],
    count: usize,
    /// Where the items' starts are listed, behind the items.
    starts: usize,
}

impl<'a> IndexPage<'a> {
    pub fn parse(body: &'a [u8]) -> Option<Self> {
        let count = u32::from_le_bytes(*body.last_chunk()?) as usize;
        let starts = body.len().checked_sub(4)?.checked_sub(count.checked_mul(4)?)?;
        (count > 0).then_some(Self { body, count, starts })
    }

    pub fn item(&self, number: usize) -> Option<Item<'a>> {
        let at = self.starts + number.checked_mul(4)?;
        let start = Input::new(self.body.get(at..)?).u32()? as usize;
        let mut input = Input::new(self.body.get(start..self.starts)?);
        let head = input.varint()?;
        let separator = input.take(usize::try_from(head >> 1).ok()?)?;
        let offset = input.varint()?.checked_mul(UNIT_BYTES)?;
        let len = input.varint().filter(|units| *units > 0)?.checked_mul(UNIT_BYTES)?;
        Some(Item { separator, continued: head & 1 == 1, location: Location { offset, len } })
    }

    /// How many items have a separator up to `key`.
    pub fn up_to(&self, key: &[u8]) -> Option<usize> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.item(middle)?.separator <= key { low = middle + 1 } else { high = middle }
        }
        Some(low)
    }
}

/// Gathers a run's blocks, in order.
#[derive(Default)]
pub(crate) struct KeyIndexBuilder {
    separators: Keys,
    blocks: Vec<(Location, bool)>,
}

impl KeyIndexBuilder {
    pub fn push(&mut self, separator: &[u8], continued: bool, location: Location) {
        self.separators.push(separator);
        self.blocks.push((location, continued));
    }

    /// Appends the pages to `out`, which will lie at `offset` in the file.
    pub fn finish(self, encoder: &mut BlockEncoder, mut offset: u64, out: &mut Vec<u8>) -> io::Result<KeyIndex> {
        let mut index = KeyIndex::default();
        let (mut body, mut starts): (Vec<u8>, Vec<u32>) = (Vec::new(), Vec::new());
        for (block, (location, continued)) in self.blocks.iter().enumerate() {
            let separator = self.separators.get(block);
            if starts.is_empty() {
                index.tops.push(separator);
                let location = Location { offset, len: 0 };
                index.pages.push(Page { location, first_block: block as u32 });
            }
            starts.push(body.len() as u32);
            put_varint(&mut body, (separator.len() as u64) << 1 | u64::from(*continued));
            body.extend_from_slice(separator);
            put_varint(&mut body, location.offset / UNIT_BYTES);
            put_varint(&mut body, location.len / UNIT_BYTES);
            if body.len() + starts.len() * 4 >= PAGE_BYTES || block + 1 == self.blocks.len() {
                starts.iter().for_each(|start| body.extend_from_slice(&start.to_le_bytes()));
                body.extend_from_slice(&(starts.len() as u32).to_le_bytes());
                let len = encoder.encode(&body, out)?;
                if let Some(page) = index.pages.last_mut() {
                    page.location.len = len;
                }
                offset += len;
                body.clear();
                starts.clear();
            }
        }
        index.blocks = self.blocks.len() as u32;
        index.tops.shrink();
        index.pages.shrink_to_fit();
        Ok(index)
    }
}

/// The shortest key that is above `before` and not above `first`, which is not below `before`.
pub(crate) fn separator<'a>(before: &[u8], first: &'a [u8]) -> &'a [u8] {
    let common = before.iter().zip(first).take_while(|(a, b)| a == b).count();
    &first[..first.len().min(common + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::block::Compression;

    #[test]
    fn separators_part() {
        for (before, first, expected) in
            [("abc", "abd", "abd"), ("abc", "b", "b"), ("ab", "abc", "abc"), ("abzz", "acyy", "ac"), ("a", "a", "a")]
        {
            assert_eq!(separator(before.as_bytes(), first.as_bytes()), expected.as_bytes());
        }
    }

    #[test]
    fn pages_and_their_tops_come_back() {
        let mut builder = KeyIndexBuilder::default();
        let location = |block: u64| Location { offset: 16 + block * 48, len: 48 };
        for block in 0..3000u64 {
            builder.push(format!("key {block:08}").as_bytes(), block % 7 == 0, location(block));
        }
        let mut out = Vec::new();
        let index = builder.finish(&mut BlockEncoder::new(Compression::None).unwrap(), 1 << 20, &mut out).unwrap();
        assert_eq!(index.extent(), Extent { offset: 1 << 20, len: out.len() as u64 });
        let mut bytes = Vec::new();
        index.encode(&mut bytes);
        assert_eq!(KeyIndex::decode(&mut Input::new(&bytes)).unwrap(), index);
        for block in 0..3000u32 {
            let page = index.page_of_block(block);
            assert_eq!(index.page_of_key(format!("key {block:08}x").as_bytes()), page);
            let location_of_page = index.location(page).unwrap();
            let at = (location_of_page.offset - (1 << 20)) as usize + 5;
            let stored = u32::from_le_bytes(out[at - 5..at - 1].try_into().unwrap()) as usize;
            let page_body = IndexPage::parse(&out[at..at + stored]).unwrap();
            let number = (block - index.first_block(page)) as usize;
            let item = page_body.item(number).unwrap();
            assert_eq!((item.location, item.continued), (location(u64::from(block)), block % 7 == 0));
            assert_eq!(page_body.up_to(item.separator), Some(number + 1));
        }
    }
}
