//! Versions gathered in memory.

use std::cmp::Reverse;

use crate::entry::Entry;
use crate::hash::hash;
use crate::keep::Keep;
use crate::{Kind, Sequence};

/// Versions, with their keys and values in one piece of memory.
#[derive(Default)]
pub(crate) struct Pile {
    bytes: Vec<u8>,
    items: Vec<Item>,
}

#[derive(Clone, Copy)]
pub(crate) struct Item {
    pub hash: u64,
    sequence: Sequence,
    start: usize,
    key_len: u32,
    value_len: u32,
    kind: Kind,
}

impl Pile {
    pub fn push(&mut self, entry: &Entry<'_>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(entry.key);
        self.bytes.extend_from_slice(entry.value);
        self.items.push(Item {
            hash: hash(entry.key),
            sequence: entry.sequence,
            start,
            key_len: entry.key.len() as u32,
            value_len: entry.value.len() as u32,
            kind: entry.kind,
        });
    }

    /// Takes over what `other` holds.
    pub fn append(&mut self, other: &Self) {
        let offset = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.items.extend(other.items.iter().map(|item| Item { start: item.start + offset, ..*item }));
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// What it takes in memory, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        (self.bytes.capacity() + self.items.capacity() * size_of::<Item>()) as u64
    }

    /// Keys and values, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub fn items(&self) -> &[Item] {
        &self.items
    }

    pub fn key(&self, item: &Item) -> &[u8] {
        &self.bytes[item.start..][..item.key_len as usize]
    }

    pub fn entry(&self, item: &Item) -> Entry<'_> {
        let value = &self.bytes[item.start + item.key_len as usize..][..item.value_len as usize];
        Entry { key: self.key(item), sequence: item.sequence, kind: item.kind, value }
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

    /// Puts items in the order of their keys, the newest version of each first.
    pub fn sort_by_key(&self, items: &mut [Item]) {
        items.sort_unstable_by(|one, other| {
            self.key(one).cmp(self.key(other)).then_with(|| Reverse(one.sequence).cmp(&Reverse(other.sequence)))
        });
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
