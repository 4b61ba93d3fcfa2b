//! The table that gathers writes: a hash table that readers look into without a lock, while one thread inserts.
//!
//! A bucket's chain holds one node for each key, its first version; later versions hang off that node, newest first. So
//! a key that is written again and again is found as fast as any, and does not slow down the others of its bucket.
//! Buckets are numbered by the top bits of the hash: walking them in turn is walking in hash order.

use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;

use super::batch::Operation;
use super::nodes::{Link, Node, Nodes};
use super::ordered::{BYTES_PER_KEY, Ordered};
use crate::entry::{Entry, Kind, RangeDelete, Sequence};
use crate::error::Result;
use crate::hash::hash;
use crate::merge::{Cursor, RangeDeletes};

/// Capacity, in bytes, for each bucket.
const CAPACITY_PER_BUCKET: u64 = 64;
const FEWEST_BUCKETS: u64 = 1 << 6;
const MOST_BUCKETS: u64 = 1 << 27;
/// How many keys a cursor fetches at once when it has gone on for a while.
const MOST_KEYS_AHEAD: usize = 64;

/// Writes in memory. Any number of threads read; one at a time, whoever holds the database's write lock, inserts.
pub(crate) struct Memtable {
    heads: Box<[AtomicU32]>,
    bucket_bits: u32,
    nodes: Arc<Nodes>,
    /// Taken from the allocator for nodes and their payload.
    node_bytes: AtomicU64,
    keys: AtomicU32,
    user_bytes: AtomicU64,
    range_deletes: ArcSwap<RangeDeletes>,
    /// Whether what is inserted goes into the key order too.
    keeps_order: AtomicBool,
    order: OnceLock<Ordered>,
    /// Set when the order holds what was there before it.
    order_filled: OnceLock<()>,
    lookups: AtomicU64,
    /// Whether a thread is inserting, to notice a second one.
    inserting: AtomicBool,
}

impl Memtable {
    /// A table that is to hold about `capacity_bytes`; more goes in, but chains grow long.
    pub fn new(capacity_bytes: u64) -> Self {
        let buckets = (capacity_bytes / CAPACITY_PER_BUCKET).clamp(FEWEST_BUCKETS, MOST_BUCKETS).next_power_of_two();
        Self {
            heads: (0..buckets).map(|_| AtomicU32::new(0)).collect(),
            bucket_bits: buckets.ilog2(),
            nodes: Arc::new(Nodes::new()),
            node_bytes: AtomicU64::new(0),
            keys: AtomicU32::new(0),
            user_bytes: AtomicU64::new(0),
            range_deletes: ArcSwap::from_pointee(RangeDeletes::default()),
            keeps_order: AtomicBool::new(false),
            order: OnceLock::new(),
            order_filled: OnceLock::new(),
            lookups: AtomicU64::new(0),
            inserting: AtomicBool::new(false),
        }
    }

    /// Inserts what a batch holds, the first operation with `first`, each other one with the next sequence. As
    /// [`Memtable::insert`], by one thread at a time.
    pub fn apply<'a>(&self, first: Sequence, operations: impl Iterator<Item = Operation<'a>>) {
        for (sequence, operation) in (first..).zip(operations) {
            match operation {
                Operation::Put { key, value } => self.insert(Entry { key, sequence, kind: Kind::Put, value }),
                Operation::Delete { key } => self.insert(Entry { key, sequence, kind: Kind::Delete, value: &[] }),
                Operation::DeleteRange { low, high } => {
                    self.delete_range(RangeDelete { low: low.into(), high: high.into(), sequence });
                }
            }
        }
    }

    /// Inserts a version, later than all of its key that are in. By one thread at a time: a second one panics.
    pub fn insert(&self, entry: Entry<'_>) {
        debug_assert!(!self.inserting.swap(true, Ordering::Acquire), "two threads insert at the same time");
        let Entry { key, sequence, kind, value } = entry;
        let hash = hash(key);
        let link = self.nodes.len().checked_add(1).expect("a memtable is flushed before it has 4 billion versions");
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
                // Either this thread sees that the order is kept, or who keeps it sees this node: see `order`.
                fence(Ordering::SeqCst);
                if self.keeps_order.load(Ordering::Relaxed) {
                    self.order.get_or_init(|| Ordered::new(&self.nodes)).insert(link);
                }
                bytes
            }
        };
        add64(&self.node_bytes, bytes);
        add64(&self.user_bytes, entry.user_bytes());
        #[cfg(debug_assertions)]
        self.inserting.store(false, Ordering::Release);
    }

    /// Deletes a range of keys. By one thread at a time, as [`Memtable::insert`].
    pub fn delete_range(&self, delete: RangeDelete) {
        let mut deletes = RangeDeletes::clone(&self.range_deletes.load());
        deletes.add(delete);
        self.range_deletes.store(Arc::new(deletes));
    }

    /// The newest version of `key` that `snapshot` sees; `hash` is the key's. Range deletes are not looked at.
    pub fn get(&self, hash: u64, key: &[u8], snapshot: Sequence) -> Option<(Sequence, Kind, &[u8])> {
        let first = self.find(hash, key)?;
        let (_, node) = self.version_seen(first, snapshot)?;
        Some((node.sequence, node.kind, node.value()))
    }

    /// The ranges deleted so far.
    pub fn range_deletes(&self) -> Arc<RangeDeletes> {
        self.range_deletes.load_full()
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 0 && self.range_deletes.load().is_empty()
    }

    /// How many versions it holds, range deletes apart.
    pub fn entries(&self) -> u64 {
        u64::from(self.nodes.len())
    }

    /// Keys and values of all versions, as the user counts.
    pub fn user_bytes(&self) -> u64 {
        self.user_bytes.load(Ordering::Relaxed)
    }

    /// The memory it takes, with its arrays and indexes.
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
            + self.range_deletes.load().bytes()
            + order
    }

    /// All versions by hash, then key, then sequence descending.
    pub fn in_hash_order(&self) -> impl Iterator<Item = Entry<'_>> {
        self.heads.iter().flat_map(|head| self.bucket_in_order(head).into_iter().flat_map(|first| self.versions(first)))
    }

    /// All versions by key, then sequence descending.
    pub fn in_key_order(&self) -> impl Iterator<Item = Entry<'_>> {
        self.order().links().flat_map(|first| self.versions(self.nodes.get(first)))
    }

    /// Whether cursors went to as many keys as there are.
    pub fn is_scanned(&self) -> bool {
        let lookups = self.lookups.load(Ordering::Relaxed);
        lookups > 0 && lookups >= u64::from(self.keys.load(Ordering::Relaxed))
    }

    /// A cursor in key order over the newest version of each key that `snapshot` sees. The first one builds the order,
    /// and those that come meanwhile wait for it; it sees at least what was inserted before it was made.
    pub fn cursor(self: &Arc<Self>, snapshot: Sequence) -> MemCursor {
        self.order();
        MemCursor {
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

    fn order(&self) -> &Ordered {
        let order = self.order.get_or_init(|| Ordered::new(&self.nodes));
        self.order_filled.get_or_init(|| {
            self.keeps_order.store(true, Ordering::Relaxed);
            // From here on an inserter keeps the order itself, or its node is among those that are counted now.
            fence(Ordering::SeqCst);
            order.fill(self.nodes.len());
        });
        order
    }

    fn bucket(&self, hash: u64) -> usize {
        (hash >> (64 - self.bucket_bits)) as usize
    }

    /// The 32 bits of the hash after those of the bucket.
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
    fn version_seen<'a>(&'a self, first: &'a Node, snapshot: Sequence) -> Option<(Link, &'a Node)> {
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

/// Adds to a counter that one thread writes: cheaper than an addition that others may take part in.
fn add(counter: &AtomicU32, more: u32) {
    counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

fn add64(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

/// A place in a memtable, in key order.
pub(crate) struct MemCursor {
    table: Arc<Memtable>,
    snapshot: Sequence,
    /// The first version of the key where it is; 0 if it is nowhere.
    key: Link,
    /// The version where it is.
    version: Link,
    /// Keys fetched from the order, in the direction of movement, and how many of them are behind.
    fetched: Vec<Link>,
    used: usize,
    ascending: bool,
    lookups: u64,
}

impl MemCursor {
    /// Goes to the first key from a bound on, in a direction.
    fn go(&mut self, from: Bound<&[u8]>, ascending: bool) {
        self.fetch(from, ascending, 1);
        self.step();
    }

    /// Goes to the key after this one, in a direction.
    fn go_on(&mut self, ascending: bool) {
        if self.key == 0 {
            return;
        }
        if self.ascending != ascending {
            self.fetch_beyond(self.key, ascending, 2);
        }
        self.step();
    }

    /// Goes to the next key, in the direction of those fetched, of which there is something to see.
    fn step(&mut self) {
        self.lookups += 1;
        loop {
            while let Some(&key) = self.fetched.get(self.used) {
                self.used += 1;
                if let Some((version, _)) = self.table.version_seen(self.table.nodes.get(key), self.snapshot) {
                    (self.key, self.version) = (key, version);
                    return;
                }
            }
            let Some(&last) = self.fetched.last() else {
                self.key = 0;
                return;
            };
            self.fetch_beyond(last, self.ascending, (2 * self.fetched.len()).min(MOST_KEYS_AHEAD));
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

impl Drop for MemCursor {
    fn drop(&mut self) {
        self.table.lookups.fetch_add(self.lookups, Ordering::Relaxed);
    }
}

impl Cursor for MemCursor {
    fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.go(Bound::Included(key), true);
        Ok(())
    }

    fn seek_for_previous(&mut self, key: &[u8]) -> Result<()> {
        self.go(Bound::Included(key), false);
        Ok(())
    }

    fn first(&mut self) -> Result<()> {
        self.go(Bound::Unbounded, true);
        Ok(())
    }

    fn last(&mut self) -> Result<()> {
        self.go(Bound::Unbounded, false);
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        self.go_on(true);
        Ok(())
    }

    fn previous(&mut self) -> Result<()> {
        self.go_on(false);
        Ok(())
    }

    fn entry(&self) -> Option<Entry<'_>> {
        (self.key != 0).then(|| entry(self.table.nodes.get(self.key), self.table.nodes.get(self.version)))
    }
}

#[cfg(test)]
mod tests;
