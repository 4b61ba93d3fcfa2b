//! The memtable: a hash table that readers use without a lock while one thread inserts.
//!
//! A bucket's chain has one node per key, its first version; later versions hang off that node, newest first. So a key
//! that is overwritten often is found as fast as any other and does not slow down its bucket. Buckets are indexed by
//! the top bits of the hash: in order, they are in hash order.

use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;

use super::batch::BatchOperation;
use super::key_order::{BYTES_PER_KEY, KeyOrder};
use super::node_arena::{Link, Node, NodeArena};
use crate::entry::{Entry, EntryKind, RangeTombstone, SequenceNumber};
use crate::error::Result;
use crate::hash::hash;
use crate::merge::{Cursor, RangeTombstones};

/// Bytes of capacity per bucket.
const CAPACITY_PER_BUCKET: u64 = 64;
const BUCKETS_MIN: u64 = 1 << 6;
const BUCKETS_MAX: u64 = 1 << 27;
/// The most keys that a cursor fetches at once.
const FETCHED_KEYS_MAX: usize = 64;

/// A memtable with this many versions is full at any size: nodes have 32-bit indexes.
const ENTRIES_MAX: u64 = 1 << 30;

/// Recent writes in memory. Any number of threads read; one thread at a time, the holder of the write pipeline,
/// inserts.
pub(crate) struct Memtable {
    heads: Box<[AtomicU32]>,
    bucket_bits: u32,
    nodes: Arc<NodeArena>,
    /// Memory of the nodes and their payload.
    node_bytes: AtomicU64,
    keys: AtomicU32,
    user_bytes: AtomicU64,
    range_tombstones: ArcSwap<RangeTombstones>,
    /// Whether inserted keys also go into the key order.
    keeps_order: AtomicBool,
    order: OnceLock<KeyOrder>,
    /// Set once the key order holds the keys that were inserted before it existed.
    order_filled: OnceLock<()>,
    lookups: AtomicU64,
    /// Set while a thread inserts, in builds with debug assertions.
    inserting: AtomicBool,
}

impl Memtable {
    /// A memtable for about `capacity_bytes`. It accepts more, with longer chains.
    pub fn new(capacity_bytes: u64) -> Self {
        let buckets = (capacity_bytes / CAPACITY_PER_BUCKET).clamp(BUCKETS_MIN, BUCKETS_MAX).next_power_of_two();
        Self {
            heads: (0..buckets).map(|_| AtomicU32::new(0)).collect(),
            bucket_bits: buckets.ilog2(),
            nodes: Arc::new(NodeArena::new()),
            node_bytes: AtomicU64::new(0),
            keys: AtomicU32::new(0),
            user_bytes: AtomicU64::new(0),
            range_tombstones: ArcSwap::from_pointee(RangeTombstones::default()),
            keeps_order: AtomicBool::new(false),
            order: OnceLock::new(),
            order_filled: OnceLock::new(),
            lookups: AtomicU64::new(0),
            inserting: AtomicBool::new(false),
        }
    }

    /// Inserts the operations of a batch: the first with sequence number `first`, each other one with the next. By one
    /// thread at a time, as [`Memtable::insert`].
    pub fn apply<'a>(&self, first: SequenceNumber, operations: impl Iterator<Item = BatchOperation<'a>>) {
        for (sequence, operation) in (first..).zip(operations) {
            match operation {
                BatchOperation::Put { key, value } => self.insert(Entry { key, sequence, kind: EntryKind::Put, value }),
                BatchOperation::Delete { key } => {
                    self.insert(Entry { key, sequence, kind: EntryKind::Delete, value: &[] })
                }
                BatchOperation::DeleteRange { low, high } => {
                    self.delete_range(RangeTombstone { low: low.into(), high: high.into(), sequence });
                }
            }
        }
    }

    /// Inserts a version with a higher sequence number than all others of its key. By one thread at a time: the caller
    /// holds the write pipeline's lock. Debug builds assert both; release builds do not detect every violation.
    pub fn insert(&self, entry: Entry<'_>) {
        debug_assert!(
            !self.inserting.swap(true, Ordering::Acquire),
            "two threads insert into a memtable at the same time"
        );
        let Entry { key, sequence, kind, value } = entry;
        let hash = hash(key);
        let link =
            self.nodes.len().checked_add(1).expect("a memtable is rotated long before it has 4 billion versions");
        let bytes = match self.find(hash, key) {
            Some(first) => {
                let older = first.newest.load(Ordering::Relaxed);
                debug_assert!(self.nodes.get(older).sequence < sequence, "a later version has a higher sequence");
                let bytes = self.nodes.push(link, Node::later(value, older, sequence, kind));
                first.newest.store(link, Ordering::Release);
                bytes
            }
            None => {
                let head = &self.heads[self.bucket(hash)];
                let next = head.load(Ordering::Relaxed);
                let node = Node::first(key, value, link, next, self.tag(hash), sequence, kind);
                let bytes = self.nodes.push(link, node);
                head.store(link, Ordering::Release);
                add(&self.keys, 1);
                // Either this thread sees that the order is kept, or the thread that fills the order sees this node:
                // see `order`.
                fence(Ordering::SeqCst);
                if self.keeps_order.load(Ordering::Relaxed) {
                    self.order.get_or_init(|| KeyOrder::new(&self.nodes)).insert(link);
                }
                bytes
            }
        };
        add64(&self.node_bytes, bytes);
        add64(&self.user_bytes, entry.user_bytes());
        #[cfg(debug_assertions)]
        self.inserting.store(false, Ordering::Release);
    }

    /// Inserts a range tombstone. By one thread at a time, as [`Memtable::insert`].
    pub fn delete_range(&self, delete: RangeTombstone) {
        let mut deletes = RangeTombstones::clone(&self.range_tombstones.load());
        deletes.add(delete);
        self.range_tombstones.store(Arc::new(deletes));
    }

    /// The newest version of `key` that `snapshot` sees; `hash` is the key's. Range tombstones are not applied.
    pub fn get(&self, hash: u64, key: &[u8], snapshot: SequenceNumber) -> Option<(SequenceNumber, EntryKind, &[u8])> {
        let first = self.find(hash, key)?;
        let (_, node) = self.visible_version(first, snapshot)?;
        Some((node.sequence, node.kind, node.value()))
    }

    /// The range tombstones so far.
    pub fn range_tombstones(&self) -> Arc<RangeTombstones> {
        self.range_tombstones.load_full()
    }

    /// Whether it has neither versions nor range tombstones.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 0 && self.range_tombstones.load().is_empty()
    }

    /// Whether it holds as much as it should: `capacity_bytes` of memory, or as many versions as its indexes allow for.
    pub fn is_full(&self, capacity_bytes: u64) -> bool {
        self.bytes() >= capacity_bytes || self.entries() >= ENTRIES_MAX
    }

    /// The number of versions.
    pub fn entries(&self) -> u64 {
        u64::from(self.nodes.len())
    }

    /// Keys and values of all versions, in bytes.
    pub fn user_bytes(&self) -> u64 {
        self.user_bytes.load(Ordering::Relaxed)
    }

    /// Its memory, in bytes.
    pub fn bytes(&self) -> u64 {
        let order = if self.keeps_order.load(Ordering::Relaxed) {
            u64::from(self.keys.load(Ordering::Relaxed)) * BYTES_PER_KEY
        } else {
            0
        };
        size_of::<Self>() as u64
            + size_of_val(&*self.heads) as u64
            + self.nodes.table_bytes()
            + self.node_bytes.load(Ordering::Relaxed)
            + self.range_tombstones.load().bytes()
            + order
    }

    /// All versions by hash, then key, then descending sequence number.
    pub fn in_hash_order(&self) -> impl Iterator<Item = Entry<'_>> {
        self.heads.iter().flat_map(|head| self.bucket_in_order(head).into_iter().flat_map(|first| self.versions(first)))
    }

    /// All versions by key, then descending sequence number.
    pub fn in_key_order(&self) -> impl Iterator<Item = Entry<'_>> {
        self.order().links().flat_map(|first| self.versions(self.nodes.get(first)))
    }

    /// Whether cursors have moved to as many keys as it has.
    pub fn is_scanned(&self) -> bool {
        let lookups = self.lookups.load(Ordering::Relaxed);
        lookups > 0 && lookups >= u64::from(self.keys.load(Ordering::Relaxed))
    }

    /// A cursor in key order over the newest version of each key that `snapshot` sees. The first cursor builds the
    /// order; others wait for that. A cursor sees at least what was inserted before it was created.
    pub fn cursor(self: &Arc<Self>, snapshot: SequenceNumber) -> MemtableCursor {
        self.order();
        MemtableCursor {
            table: Arc::clone(self),
            snapshot,
            key: 0,
            version: 0,
            fetched: Vec::new(),
            used: 0,
            ascending: true,
            lookups: 0,
        }
    }

    fn order(&self) -> &KeyOrder {
        let order = self.order.get_or_init(|| KeyOrder::new(&self.nodes));
        self.order_filled.get_or_init(|| {
            self.keeps_order.store(true, Ordering::Relaxed);
            // From here on an inserting thread adds to the order itself, or its node is among those counted now.
            fence(Ordering::SeqCst);
            order.fill(self.nodes.len());
        });
        order
    }

    fn bucket(&self, hash: u64) -> usize {
        (hash >> (64 - self.bucket_bits)) as usize
    }

    /// The 32 bits of the hash after the bucket's index.
    fn tag(&self, hash: u64) -> u32 {
        ((hash << self.bucket_bits) >> 32) as u32
    }

    /// The first version of `key`.
    fn find(&self, hash: u64, key: &[u8]) -> Option<&Node> {
        let tag = self.tag(hash);
        let mut link = self.heads[self.bucket(hash)].load(Ordering::Acquire);
        while link != 0 {
            let node = self.nodes.get(link);
            if node.tag == tag && node.key() == key {
                return Some(node);
            }
            link = node.next;
        }
        None
    }

    /// The newest version of a key that `snapshot` sees.
    fn visible_version<'a>(&'a self, first: &'a Node, snapshot: SequenceNumber) -> Option<(Link, &'a Node)> {
        let mut link = first.newest.load(Ordering::Acquire);
        loop {
            let node = self.nodes.get(link);
            if node.sequence <= snapshot {
                return Some((link, node));
            }
            if node.is_first {
                return None;
            }
            link = node.next;
        }
    }

    /// The first versions of a bucket's keys, by hash and key.
    fn bucket_in_order(&self, head: &AtomicU32) -> Vec<&Node> {
        let mut firsts = Vec::new();
        let mut link = head.load(Ordering::Acquire);
        while link != 0 {
            let node = self.nodes.get(link);
            firsts.push(node);
            link = node.next;
        }
        firsts.sort_unstable_by(|a, b| {
            a.tag.cmp(&b.tag).then_with(|| (hash(a.key()), a.key()).cmp(&(hash(b.key()), b.key())))
        });
        firsts
    }

    /// All versions of a key, newest first.
    fn versions<'a>(&'a self, first: &'a Node) -> impl Iterator<Item = Entry<'a>> {
        let newest = self.nodes.get(first.newest.load(Ordering::Acquire));
        std::iter::successors(Some(newest), |node| (!node.is_first).then(|| self.nodes.get(node.next)))
            .map(|node| entry(first, node))
    }
}

fn entry<'a>(first: &'a Node, node: &'a Node) -> Entry<'a> {
    Entry { key: first.key(), sequence: node.sequence, kind: node.kind, value: node.value() }
}

/// Adds to a counter with one writer: cheaper than an atomic addition.
fn add(counter: &AtomicU32, more: u32) {
    counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

fn add64(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

/// A cursor over a memtable.
pub(crate) struct MemtableCursor {
    table: Arc<Memtable>,
    snapshot: SequenceNumber,
    /// The first version of the current key; 0 if there is no entry.
    key: Link,
    /// The current version.
    version: Link,
    /// Keys fetched from the order, in the direction of movement, and how many of them were used.
    fetched: Vec<Link>,
    used: usize,
    ascending: bool,
    lookups: u64,
}

impl MemtableCursor {
    /// Moves to the first key from a bound on, in a direction.
    fn seek_bound(&mut self, from: Bound<&[u8]>, ascending: bool) {
        self.fetch(from, ascending, 1);
        self.step();
    }

    /// Moves to the next key in a direction.
    fn advance(&mut self, ascending: bool) {
        if self.key == 0 {
            return;
        }
        if self.ascending != ascending {
            self.fetch_beyond(self.key, ascending, 2);
        }
        self.step();
    }

    /// Moves to the next key, among those fetched and beyond, that `snapshot` sees.
    fn step(&mut self) {
        self.lookups += 1;
        loop {
            while let Some(&key) = self.fetched.get(self.used) {
                self.used += 1;
                if let Some((version, _)) = self.table.visible_version(self.table.nodes.get(key), self.snapshot) {
                    (self.key, self.version) = (key, version);
                    return;
                }
            }
            let Some(&last) = self.fetched.last() else {
                self.key = 0;
                return;
            };
            self.fetch_beyond(last, self.ascending, (2 * self.fetched.len()).min(FETCHED_KEYS_MAX));
        }
    }

    fn fetch_beyond(&mut self, key: Link, ascending: bool, limit: usize) {
        let table = Arc::clone(&self.table);
        self.fetch(Bound::Excluded(table.nodes.get(key).key()), ascending, limit);
    }

    fn fetch(&mut self, from: Bound<&[u8]>, ascending: bool, limit: usize) {
        self.fetched.clear();
        self.used = 0;
        self.ascending = ascending;
        if ascending {
            self.table.order().ascending(from, limit, &mut self.fetched);
        } else {
            self.table.order().descending(from, limit, &mut self.fetched);
        }
    }
}

impl Drop for MemtableCursor {
    fn drop(&mut self) {
        self.table.lookups.fetch_add(self.lookups, Ordering::Relaxed);
    }
}

impl Cursor for MemtableCursor {
    fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.seek_bound(Bound::Included(key), true);
        Ok(())
    }

    fn seek_for_previous(&mut self, key: &[u8]) -> Result<()> {
        self.seek_bound(Bound::Included(key), false);
        Ok(())
    }

    fn first(&mut self) -> Result<()> {
        self.seek_bound(Bound::Unbounded, true);
        Ok(())
    }

    fn last(&mut self) -> Result<()> {
        self.seek_bound(Bound::Unbounded, false);
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        self.advance(true);
        Ok(())
    }

    fn previous(&mut self) -> Result<()> {
        self.advance(false);
        Ok(())
    }

    fn entry(&self) -> Option<Entry<'_>> {
        (self.key != 0).then(|| entry(self.table.nodes.get(self.key), self.table.nodes.get(self.version)))
    }
}

#[cfg(test)]
mod tests;
