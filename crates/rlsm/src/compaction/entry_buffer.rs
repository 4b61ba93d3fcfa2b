//! Entries in memory, between the inputs of a compaction and its output.

use std::cmp::Reverse;
use std::ops::RangeInclusive;

use crate::entry::Entry;
use crate::hash::hash;
use crate::key_prefix;
use crate::retention::RetentionFilter;
use crate::{EntryKind, SequenceNumber};

/// The sizes of chunks. Freed chunks of one size are reused; a vector that grows would leave holes that fit nothing.
const CHUNK_BYTES: RangeInclusive<usize> = 4 << 10..=256 << 10;

/// Entries whose keys and values are stored in chunks.
#[derive(Default)]
pub(crate) struct EntryBuffer {
    chunks: Vec<Vec<u8>>,
    /// Keys and values, in bytes.
    bytes: u64,
    items: Vec<BufferedEntry>,
}

#[derive(Clone, Copy)]
pub(crate) struct BufferedEntry {
    pub hash: u64,
    sequence: SequenceNumber,
    chunk: u32,
    start: u32,
    value_len: u32,
    key_len: u16,
    kind: EntryKind,
}

impl EntryBuffer {
    pub fn push(&mut self, entry: &Entry<'_>) {
        let chunk = self.chunk_with_room(entry.key.len() + entry.value.len());
        let start = chunk.len() as u32;
        chunk.extend_from_slice(entry.key);
        chunk.extend_from_slice(entry.value);
        self.bytes += (entry.key.len() + entry.value.len()) as u64;
        self.items.push(BufferedEntry {
            hash: hash(entry.key),
            sequence: entry.sequence,
            chunk: self.chunks.len() as u32 - 1,
            start,
            value_len: entry.value.len() as u32,
            key_len: entry.key.len() as u16,
            kind: entry.kind,
        });
    }

    /// The last chunk, with room for `len` more bytes.
    fn chunk_with_room(&mut self, len: usize) -> &mut Vec<u8> {
        let last = self.chunks.last();
        if last.is_none_or(|last| last.capacity() - last.len() < len) {
            let grown = 2 * last.map_or(0, Vec::capacity);
            let size = grown.clamp(*CHUNK_BYTES.start(), *CHUNK_BYTES.end()).max(len);
            self.chunks.push(Vec::with_capacity(size));
        }
        let last = self.chunks.len() - 1;
        &mut self.chunks[last]
    }

    /// Moves the entries of `other` here.
    pub fn append(&mut self, other: &mut Self) {
        let other = std::mem::take(other);
        let before = self.chunks.len() as u32;
        self.chunks.extend(other.chunks);
        self.bytes += other.bytes;
        self.items.extend(other.items.iter().map(|item| BufferedEntry { chunk: item.chunk + before, ..*item }));
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Memory of the buffer, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let chunks: usize = self.chunks.iter().map(Vec::capacity).sum();
        (chunks + self.items.capacity() * size_of::<BufferedEntry>()) as u64
    }

    /// Keys and values, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn items(&self) -> &[BufferedEntry] {
        &self.items
    }

    pub fn key(&self, item: &BufferedEntry) -> &[u8] {
        &self.key_and_value(item)[..usize::from(item.key_len)]
    }

    pub fn entry(&self, item: &BufferedEntry) -> Entry<'_> {
        let (key, value) = self.key_and_value(item).split_at(usize::from(item.key_len));
        Entry { key, sequence: item.sequence, kind: item.kind, value }
    }

    /// The key and the value, adjacent.
    fn key_and_value(&self, item: &BufferedEntry) -> &[u8] {
        let len = usize::from(item.key_len) + item.value_len as usize;
        &self.chunks[item.chunk as usize][item.start as usize..][..len]
    }

    /// Sorts the entries by hash, key and descending sequence number, and drops those that are not retained. Entries of
    /// a run are in order already: the stable sort merges them.
    pub fn sort_and_retain(&mut self, mut retention: RetentionFilter<'_>) {
        let mut items = std::mem::take(&mut self.items);
        items.sort_by(|one, other| {
            let by_key = || self.key(one).cmp(self.key(other));
            (one.hash.cmp(&other.hash))
                .then_with(by_key)
                .then_with(|| Reverse(one.sequence).cmp(&Reverse(other.sequence)))
        });
        items.retain(|item| retention.retains(&self.entry(item)));
        self.items = items;
    }

    /// Entries in key order, the newest version of each key first.
    pub fn in_key_order(&self, items: &[BufferedEntry]) -> Vec<BufferedEntry> {
        let newest_first = |one: u32, other: u32| items[other as usize].sequence.cmp(&items[one as usize].sequence);
        let sorted = key_prefix::sorted(items.len() as u32, |number| self.key(&items[number as usize]), newest_first);
        sorted.into_iter().map(|number| items[number as usize]).collect()
    }

    /// The lowest sequence number.
    pub fn lowest_sequence(&self, items: &[BufferedEntry]) -> SequenceNumber {
        items.iter().map(|item| item.sequence).min().unwrap_or(0)
    }

    /// The lowest and the highest key.
    pub fn span(&self, items: &[BufferedEntry]) -> Option<crate::plan::KeySpan> {
        let keys = || items.iter().map(|item| self.key(item));
        Some(crate::plan::KeySpan { low: keys().min()?.into(), high: keys().max()?.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(lens: &[usize], key: u8) -> EntryBuffer {
        let mut buffer = EntryBuffer::default();
        for (sequence, &len) in (0..).zip(lens) {
            let value = vec![sequence as u8; len];
            buffer.push(&Entry { key: &[key, sequence as u8], sequence, kind: EntryKind::Put, value: &value });
        }
        buffer
    }

    #[test]
    fn entries_of_any_size_are_stored() {
        let lens = [0, 100, 5000, 3 << 20, 1, 300 << 10, 7];
        let (mut all, mut other) = (buffer(&lens, b'a'), buffer(&lens, b'b'));
        all.append(&mut other);
        assert!(other.is_empty() && other.bytes() == 0);
        all.push(&Entry { key: b"c", sequence: 9, kind: EntryKind::Delete, value: b"" });
        let got: Vec<(Vec<u8>, usize)> =
            all.items().iter().map(|item| (all.entry(item).key.to_vec(), all.entry(item).value.len())).collect();
        let keys = |key: u8| lens.iter().zip(0..).map(move |(len, number)| (vec![key, number], *len));
        let expected: Vec<_> = keys(b'a').chain(keys(b'b')).chain([(b"c".to_vec(), 0)]).collect();
        assert_eq!(got, expected);
        let uniform =
            |item: &&BufferedEntry| all.entry(item).value.iter().all(|byte| u64::from(*byte) == item.sequence);
        assert!(all.items().iter().all(|item| uniform(&item)));
        assert_eq!(all.bytes(), expected.iter().map(|(key, value)| (key.len() + value) as u64).sum::<u64>());
        assert!(all.memory_bytes() < 2 * all.bytes());
    }
}
