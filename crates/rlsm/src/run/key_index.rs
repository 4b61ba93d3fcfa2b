//! The index of a key-ordered run: a separator key per block, in pages that are read through the cache. The first
//! separator of each page stays in memory.
//!
//! A separator is the shortest key that is above all keys of the block before and not above any of its own block. A
//! block that continues the versions of the last key before it is marked as continued; its separator is that key.

use std::io;

use super::block::{BlockEncoder, BlockHandle, UNIT_BYTES};
use super::file::Extent;
use super::keys::KeyList;
use crate::codec::{ByteReader, put_varint};

const PAGE_BYTES: usize = 4096;

/// An item of the index: a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexItem<'a> {
    pub separator: &'a [u8],
    /// Whether its first entry has the key of the entry before it.
    pub continued: bool,
    pub handle: BlockHandle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IndexPageLocation {
    handle: BlockHandle,
    first_block: u32,
}

/// The part of the index that stays in memory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyIndex {
    /// The first separator of each page.
    first_separators: KeyList,
    pages: Vec<IndexPageLocation>,
    blocks: u32,
}

impl KeyIndex {
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    pub fn memory_bytes(&self) -> u64 {
        self.first_separators.memory_bytes() + (self.pages.capacity() * size_of::<IndexPageLocation>()) as u64
    }

    /// The page with the last block whose separator is not above `key`.
    pub fn page_of_key(&self, key: &[u8]) -> usize {
        self.first_separators.partition_point(|top| top <= key).saturating_sub(1)
    }

    /// The page of a block.
    pub fn page_of_block(&self, block: u32) -> usize {
        self.pages.partition_point(|page| page.first_block <= block).saturating_sub(1)
    }

    pub fn handle(&self, page: usize) -> Option<BlockHandle> {
        self.pages.get(page).map(|page| page.handle)
    }

    pub fn first_block(&self, page: usize) -> u32 {
        self.pages.get(page).map_or(self.blocks, |page| page.first_block)
    }

    /// The extent of all pages.
    pub fn extent(&self) -> Extent {
        let offset = self.pages.first().map_or(0, |page| page.handle.offset);
        let end = self.pages.last().map_or(0, |page| page.handle.offset + page.handle.len);
        Extent { offset, len: end - offset }
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        self.first_separators.encode(out);
        put_varint(out, self.extent().offset);
        for (index, page) in self.pages.iter().enumerate() {
            put_varint(out, page.handle.len);
            put_varint(out, u64::from(self.first_block(index + 1) - page.first_block));
        }
    }

    pub fn decode(input: &mut ByteReader<'_>) -> Option<Self> {
        let first_separators = KeyList::decode(input)?;
        let (mut offset, mut blocks) = (input.varint()?, 0u32);
        let mut pages = Vec::with_capacity(first_separators.len());
        for _ in 0..first_separators.len() {
            let (len, count) = (input.varint()?, u32::try_from(input.varint()?).ok()?);
            pages.push(IndexPageLocation { handle: BlockHandle { offset, len }, first_block: blocks });
            (offset, blocks) = (offset.checked_add(len)?, blocks.checked_add(count)?);
            if len == 0 || count == 0 {
                return None;
            }
        }
        Some(Self { first_separators, pages, blocks })
    }
}

/// The items of a page.
#[derive(Clone, Copy)]
pub(crate) struct IndexPage<'a> {
    body: &'a [u8],
    count: usize,
    /// The offset of the list of the items' offsets, which follows the items.
    starts: usize,
}

impl<'a> IndexPage<'a> {
    pub fn parse(body: &'a [u8]) -> Option<Self> {
        let count = u32::from_le_bytes(*body.last_chunk()?) as usize;
        let starts = body.len().checked_sub(4)?.checked_sub(count.checked_mul(4)?)?;
        (count > 0).then_some(Self { body, count, starts })
    }

    pub fn item(&self, number: usize) -> Option<IndexItem<'a>> {
        let at = self.starts + number.checked_mul(4)?;
        let start = ByteReader::new(self.body.get(at..)?).u32()? as usize;
        let mut input = ByteReader::new(self.body.get(start..self.starts)?);
        let head = input.varint()?;
        let separator = input.take(usize::try_from(head >> 1).ok()?)?;
        let offset = input.varint()?.checked_mul(UNIT_BYTES)?;
        let len = input.varint().filter(|units| *units > 0)?.checked_mul(UNIT_BYTES)?;
        Some(IndexItem { separator, continued: head & 1 == 1, handle: BlockHandle { offset, len } })
    }

    /// The number of items whose separator is not above `key`.
    pub fn count_up_to(&self, key: &[u8]) -> Option<usize> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.item(middle)?.separator <= key { low = middle + 1 } else { high = middle }
        }
        Some(low)
    }
}

/// Collects a run's blocks, in order.
#[derive(Default)]
pub(crate) struct KeyIndexBuilder {
    separators: KeyList,
    blocks: Vec<(BlockHandle, bool)>,
}

impl KeyIndexBuilder {
    pub fn push(&mut self, separator: &[u8], continued: bool, handle: BlockHandle) {
        self.separators.push(separator);
        self.blocks.push((handle, continued));
    }

    /// Appends the pages to `out`, for this offset in the file.
    pub fn finish(self, encoder: &mut BlockEncoder, mut offset: u64, out: &mut Vec<u8>) -> io::Result<KeyIndex> {
        let mut index = KeyIndex::default();
        let (mut body, mut starts): (Vec<u8>, Vec<u32>) = (Vec::new(), Vec::new());
        for (block, (handle, continued)) in self.blocks.iter().enumerate() {
            let separator = self.separators.get(block);
            if starts.is_empty() {
                index.first_separators.push(separator);
                let handle = BlockHandle { offset, len: 0 };
                index.pages.push(IndexPageLocation { handle, first_block: block as u32 });
            }
            starts.push(body.len() as u32);
            put_varint(&mut body, (separator.len() as u64) << 1 | u64::from(*continued));
            body.extend_from_slice(separator);
            put_varint(&mut body, handle.offset / UNIT_BYTES);
            put_varint(&mut body, handle.len / UNIT_BYTES);
            if body.len() + starts.len() * 4 >= PAGE_BYTES || block + 1 == self.blocks.len() {
                starts.iter().for_each(|start| body.extend_from_slice(&start.to_le_bytes()));
                body.extend_from_slice(&(starts.len() as u32).to_le_bytes());
                let len = encoder.encode(&body, out)?;
                if let Some(page) = index.pages.last_mut() {
                    page.handle.len = len;
                }
                offset += len;
                body.clear();
                starts.clear();
            }
        }
        index.blocks = self.blocks.len() as u32;
        index.first_separators.shrink();
        index.pages.shrink_to_fit();
        Ok(index)
    }
}

/// The shortest key that is above `before` and not above `first`. `first` is not below `before`.
pub(crate) fn separator<'a>(before: &[u8], first: &'a [u8]) -> &'a [u8] {
    let common = before.iter().zip(first).take_while(|(a, b)| a == b).count();
    &first[..first.len().min(common + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::block::Compression;

    #[test]
    fn separators_are_the_shortest() {
        for (before, first, expected) in
            [("abc", "abd", "abd"), ("abc", "b", "b"), ("ab", "abc", "abc"), ("abzz", "acyy", "ac"), ("a", "a", "a")]
        {
            assert_eq!(separator(before.as_bytes(), first.as_bytes()), expected.as_bytes());
        }
    }

    #[test]
    fn the_index_survives_encoding() {
        let mut builder = KeyIndexBuilder::default();
        let handle = |block: u64| BlockHandle { offset: 16 + block * 48, len: 48 };
        for block in 0..3000u64 {
            builder.push(format!("key {block:08}").as_bytes(), block % 7 == 0, handle(block));
        }
        let mut out = Vec::new();
        let index = builder.finish(&mut BlockEncoder::new(Compression::None).unwrap(), 1 << 20, &mut out).unwrap();
        assert_eq!(index.extent(), Extent { offset: 1 << 20, len: out.len() as u64 });
        let mut bytes = Vec::new();
        index.encode(&mut bytes);
        assert_eq!(KeyIndex::decode(&mut ByteReader::new(&bytes)).unwrap(), index);
        for block in 0..3000u32 {
            let page = index.page_of_block(block);
            assert_eq!(index.page_of_key(format!("key {block:08}x").as_bytes()), page);
            let location_of_page = index.handle(page).unwrap();
            let at = (location_of_page.offset - (1 << 20)) as usize + 5;
            let stored = u32::from_le_bytes(out[at - 5..at - 1].try_into().unwrap()) as usize;
            let page_body = IndexPage::parse(&out[at..at + stored]).unwrap();
            let number = (block - index.first_block(page)) as usize;
            let item = page_body.item(number).unwrap();
            assert_eq!((item.handle, item.continued), (handle(u64::from(block)), block % 7 == 0));
            assert_eq!(page_body.count_up_to(item.separator), Some(number + 1));
        }
    }
}
