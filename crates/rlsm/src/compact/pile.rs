//! Versions gathered in memory.

use std::cmp::Reverse;
use std::ops::RangeInclusive;

use crate::entry::Entry;
use crate::hash::hash;
use crate::keep::Keep;
use crate::prefix;
use crate::{Kind, Sequence};

/// Memory is taken in pieces of so many bytes, from the first to the last: pieces of one size are used again when they
/// are free, where a vector that grows leaves holes that nothing fits.
const CHUNK_BYTES: RangeInclusive<usize> = 4 << 10..=256 << 10;

/// Versions, with their keys and values in a few pieces of memory.
#[derive(Default)]
pub(crate) struct Pile {
    chunks: Vec<Vec<u8>>,
    /// Keys and values, in bytes.
    bytes: u64,
    items: Vec<Item>,
}

#[derive(Clone, Copy)]
pub(crate) struct Item {
    pub hash: u64,
    sequence: Sequence,
    chunk: u32,
    start: u32,
    value_len: u32,
    key_len: u16,
    kind: Kind,
}

impl Pile {
    pub fn push(&mut self, entry: &Entry<'_>) {
        let chunk = self.room_for(entry.key.len() + entry.value.len());
        let start = chunk.len() as u32;
        chunk.extend_from_slice(entry.key);
        chunk.extend_from_slice(entry.value);
        self.bytes += (entry.key.len() + entry.value.len()) as u64;
        self.items.push(Item {
            hash: hash(entry.key),
            sequence: entry.sequence,
            chunk: self.chunks.len() as u32 - 1,
            start,
            value_len: entry.value.len() as u32,
            key_len: entry.key.len() as u16,
            kind: entry.kind,
        });
    }

    /// The last chunk, which has room for `len` bytes.
    fn room_for(&mut self, len: usize) -> &mut Vec<u8> {
        let last = self.chunks.last();
        if last.is_none_or(|last| last.capacity() - last.len() < len) {
            let grown = 2 * last.map_or(0, Vec::capacity);
            let size = grown.clamp(*CHUNK_BYTES.start(), *CHUNK_BYTES.end()).max(len);
            self.chunks.push(Vec::with_capacity(size));
        }
        let last = self.chunks.len() - 1;
        &mut self.chunks[last]
    }

    /// Takes over what `other` holds, which is empty then.
    pub fn append(&mut self, other: &mut Self) {
        let other = std::mem::take(other);
        let before = self.chunks.len() as u32;
        self.chunks.extend(other.chunks);
        self.bytes += other.bytes;
        self.items.extend(other.items.iter().map(|item| Item { chunk: item.chunk + before, ..*item }));
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// What it takes in memory, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let chunks: usize = self.chunks.iter().map(Vec::capacity).sum();
        (chunks + self.items.capacity() * size_of::<Item>()) as u64
    }

    /// Keys and values, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn items(&self) -> &[Item] {
        &self.items
    }

    pub fn key(&self, item: &Item) -> &[u8] {
        &self.pair(item)[..usize::from(item.key_len)]
    }

    pub fn entry(&self, item: &Item) -> Entry<'_> {
        let (key, value) = self.pair(item).split_at(usize::from(item.key_len));
        Entry { key, sequence: item.sequence, kind: item.kind, value }
    }

    /// The key with the value behind it.
    fn pair(&self, item: &Item) -> &[u8] {
        let len = usize::from(item.key_len) + item.value_len as usize;
        &self.chunks[item.chunk as usize][item.start as usize..][..len]
    }

    /// Puts all in the order of runs, and out what `keep` does not need. What came in from runs is in pieces that are
    /// in order already, which a stable sort finds and merges.
    pub fn settle(&mut self, mut keep: Keep<'_>) {
        let mut items = std::mem::take(&mut self.items);
        items.sort_by(|one, other| {
            let by_key = || self.key(one).cmp(self.key(other));
            (one.hash.cmp(&other.hash))
                .then_with(by_key)
                .then_with(|| Reverse(one.sequence).cmp(&Reverse(other.sequence)))
        });
        items.retain(|item| keep.needs(&self.entry(item)));
        self.items = items;
    }

    /// Items in the order of their keys, the newest version of each first.
    pub fn sorted_by_key(&self, items: &[Item]) -> Vec<Item> {
        let newest_first = |one: u32, other: u32| items[other as usize].sequence.cmp(&items[one as usize].sequence);
        let sorted = prefix::sorted(items.len() as u32, |number| self.key(&items[number as usize]), newest_first);
        sorted.into_iter().map(|number| items[number as usize]).collect()
    }

    /// The first of the writes.
    pub fn lowest_sequence(&self, items: &[Item]) -> Sequence {
        items.iter().map(|item| item.sequence).min().unwrap_or(0)
    }

    /// The lowest and the highest key.
    pub fn span(&self, items: &[Item]) -> Option<crate::plan::Span> {
        let keys = || items.iter().map(|item| self.key(item));
        Some(crate::plan::Span { low: keys().min()?.into(), high: keys().max()?.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pile(lens: &[usize], key: u8) -> Pile {
        let mut pile = Pile::default();
        for (sequence, &len) in (0..).zip(lens) {
            let value = vec![sequence as u8; len];
            pile.push(&Entry { key: &[key, sequence as u8], sequence, kind: Kind::Put, value: &value });
        }
        pile
    }

    #[test]
    fn what_went_in_comes_out_whatever_its_size() {
        let lens = [0, 100, 5000, 3 << 20, 1, 300 << 10, 7];
        let (mut all, mut other) = (pile(&lens, b'a'), pile(&lens, b'b'));
        all.append(&mut other);
        assert!(other.is_empty() && other.bytes() == 0);
        all.push(&Entry { key: b"c", sequence: 9, kind: Kind::Delete, value: b"" });
        let told: Vec<(Vec<u8>, usize)> =
            all.items().iter().map(|item| (all.entry(item).key.to_vec(), all.entry(item).value.len())).collect();
        let keys = |key: u8| lens.iter().zip(0..).map(move |(len, number)| (vec![key, number], *len));
        let expected: Vec<_> = keys(b'a').chain(keys(b'b')).chain([(b"c".to_vec(), 0)]).collect();
        assert_eq!(told, expected);
        let uniform = |item: &&Item| all.entry(item).value.iter().all(|byte| u64::from(*byte) == item.sequence);
        assert!(all.items().iter().all(|item| uniform(&item)));
        assert_eq!(all.bytes(), expected.iter().map(|(key, value)| (key.len() + value) as u64).sum::<u64>());
        assert!(all.memory_bytes() < 2 * all.bytes());
    }
}
