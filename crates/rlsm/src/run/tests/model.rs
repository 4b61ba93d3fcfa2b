//! The model of a run, a sorted list of entries, and strategies for such lists.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use super::memory_files::MemoryFiles;
use crate::entry::{Entry, EntryKind, SequenceNumber};
use crate::hash::hash;
use crate::run::{Compression, DataFile, DataFileOptions, DataFileWriter, HashColumn, Order, Run};

/// An owned entry, with the hash it is stored under.
#[derive(Clone, PartialEq, Eq)]
pub struct Owned {
    pub hash: u64,
    pub key: Vec<u8>,
    pub sequence: SequenceNumber,
    /// `None` for a tombstone.
    pub value: Option<Vec<u8>>,
}

impl Owned {
    pub fn new(key: impl Into<Vec<u8>>, sequence: SequenceNumber, value: Option<Vec<u8>>) -> Self {
        let key = key.into();
        Self { hash: hash(&key), key, sequence, value }
    }

    pub fn entry(&self) -> Entry<'_> {
        Entry {
            key: &self.key,
            sequence: self.sequence,
            kind: self.kind(),
            value: self.value.as_deref().unwrap_or_default(),
        }
    }

    pub fn kind(&self) -> EntryKind {
        if self.value.is_some() { EntryKind::Put } else { EntryKind::Delete }
    }
}

impl std::fmt::Debug for Owned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (key, len) = (self.key[..self.key.len().min(30)].escape_ascii(), self.key.len());
        write!(f, "{key} ({len}) #{} {:?}", self.sequence, self.value.as_ref().map(Vec::len))
    }
}

/// Sorts entries in the order of a run, without duplicates.
pub fn arrange(order: Order, entries: &mut Vec<Owned>) {
    let hash_of = |entry: &Owned| if order == Order::Hash { entry.hash } else { 0 };
    entries.sort_by(|a, b| (hash_of(a), &a.key, b.sequence).cmp(&(hash_of(b), &b.key, a.sequence)));
    entries.dedup_by(|a, b| a.key == b.key && a.sequence == b.sequence);
}

pub fn in_key_order(entries: &[Owned]) -> Vec<Owned> {
    let mut sorted = entries.to_vec();
    arrange(Order::Key, &mut sorted);
    sorted
}

/// The newest version of a key that a snapshot sees.
pub fn newest<'a>(entries: &'a [Owned], key: &[u8], snapshot: SequenceNumber) -> Option<&'a Owned> {
    entries.iter().filter(|entry| entry.key == key && entry.sequence <= snapshot).max_by_key(|entry| entry.sequence)
}

pub fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::Hash), Just(Order::Key)]
}

pub fn options() -> impl Strategy<Value = DataFileOptions> {
    let compression = prop_oneof![Just(Compression::None), Just(Compression::Lz4), Just(Compression::Zstd)];
    let sizes = prop_oneof![Just((4096, 1 << 20)), Just((64, 1)), Just((200, 2000))];
    (sizes, compression).prop_map(|((block_bytes, piece_bytes), compression)| DataFileOptions {
        block_bytes,
        compression,
        piece_bytes,
    })
}

/// Keys of which many are equal, share a prefix, are empty or have the maximum length.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => (0u32..40).prop_map(|number| format!("key {number}").into_bytes()),
        4 => vec(any::<u8>(), 0..30),
        4 => vec(0u8..2, 0..6),
        1 => (0u8..3).prop_map(|byte| vec![byte; 65_535]),
    ]
}

fn value() -> impl Strategy<Value = Option<Vec<u8>>> {
    prop_oneof![
        2 => Just(None),
        8 => vec(any::<u8>(), 0..50).prop_map(Some),
        3 => (any::<u8>(), 100usize..6000).prop_map(|(byte, len)| Some(vec![byte; len])),
    ]
}

/// A hash that a third of all keys share.
pub fn colliding(key: &[u8]) -> u64 {
    (hash(key) % 3) << 31
}

/// Entries in the order of a run; with `collide`, many keys share a hash.
pub fn entries(order: Order, collide: bool, max: usize) -> impl Strategy<Value = Vec<Owned>> {
    vec((key(), 1_000u64..1_300, value()), 0..max).prop_map(move |entries| {
        let own = |(key, sequence, value)| {
            let entry = Owned::new(key, sequence, value);
            let hash = if collide { colliding(&entry.key) } else { entry.hash };
            Owned { hash, ..entry }
        };
        let mut entries: Vec<Owned> = entries.into_iter().map(own).collect();
        arrange(order, &mut entries);
        entries
    })
}

pub struct Written {
    pub files: MemoryFiles,
    pub data: Arc<DataFile>,
    pub runs: Vec<Arc<Run>>,
    pub hashes: Vec<HashColumn>,
}

/// Writes runs to one file, interleaving their entries.
pub fn write(options: &DataFileOptions, runs: &[(Order, bool, &[Owned])]) -> Written {
    let files = MemoryFiles::default();
    let mut writer = DataFileWriter::create(&files, 7, options).unwrap();
    let numbers: Vec<usize> =
        runs.iter().map(|(order, permutation, _)| writer.run(*order, *permutation, 900)).collect();
    let longest = runs.iter().map(|(_, _, entries)| entries.len()).max().unwrap_or(0);
    for index in 0..longest {
        for (number, (_, _, entries)) in numbers.iter().zip(runs) {
            if let Some(entry) = entries.get(index) {
                writer.push_hashed(*number, entry.hash, entry.entry()).unwrap();
            }
        }
    }
    let (data, runs, hashes) = writer.finish().unwrap();
    Written { files, data, runs, hashes }
}

/// Key, sequence number, and value unless it is a tombstone.
pub type Plain = (Vec<u8>, SequenceNumber, Option<Vec<u8>>);

/// All entries that `read_all` returns.
pub fn read_all(run: &Run, read_ahead: usize) -> crate::Result<Vec<Plain>> {
    let mut reader = run.read_all(read_ahead);
    let mut all = Vec::new();
    while let Some(entry) = reader.next()? {
        all.push((entry.key.to_vec(), entry.sequence, (entry.kind == EntryKind::Put).then(|| entry.value.to_vec())));
    }
    Ok(all)
}

pub fn plain(entries: &[Owned]) -> Vec<Plain> {
    entries.iter().map(|entry| (entry.key.clone(), entry.sequence, entry.value.clone())).collect()
}

/// Small blocks and pieces.
pub fn small() -> DataFileOptions {
    DataFileOptions { block_bytes: 300, compression: Compression::None, piece_bytes: 2000 }
}
