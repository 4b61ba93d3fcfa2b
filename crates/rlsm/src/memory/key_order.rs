//! The key order of a memtable, for iteration.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use crossbeam_skiplist::SkipSet;

use super::node_arena::{Link, NodeArena};

/// Memory of a key in the skip list: the item, a tower of two links on average, the list's reference count, the
/// allocator's overhead.
pub(super) const BYTES_PER_KEY: u64 = size_of::<NodeKey>() as u64 + 2 * 8 + 8 + 8;

/// A skip list over the first versions of keys.
pub(super) struct KeyOrder {
    nodes: Arc<NodeArena>,
    keys: SkipSet<NodeKey>,
}

impl KeyOrder {
    pub fn new(nodes: &Arc<NodeArena>) -> Self {
        Self { nodes: Arc::clone(nodes), keys: SkipSet::new() }
    }

    /// Inserts the key whose first version is `link`, unless it is there.
    pub fn insert(&self, link: Link) {
        self.keys.get_or_insert(NodeKey::new(&self.nodes, link));
    }

    /// Inserts all keys among the first `len` nodes, sorted, so that each position is found near the last.
    pub fn fill(&self, len: u32) {
        let mut firsts: Vec<NodeKey> = (1..=len)
            .filter(|&link| self.nodes.get(link).is_first)
            .map(|link| NodeKey::new(&self.nodes, link))
            .collect();
        firsts.sort_unstable();
        for first in firsts {
            self.keys.get_or_insert(first);
        }
    }

    /// All keys, ascending.
    pub fn links(&self) -> impl Iterator<Item = Link> {
        self.keys.iter().map(|first| first.link)
    }

    /// Appends up to `limit` keys from `low` on to `found`, ascending.
    pub fn ascending(&self, low: Bound<&[u8]>, limit: usize, found: &mut Vec<Link>) {
        let low = low.map(LookupKey::new);
        let low: Bound<&dyn SortKey> = low.as_ref().map(|sought| sought as &dyn SortKey);
        found.extend(self.keys.range::<dyn SortKey, _>((low, Bound::Unbounded)).take(limit).map(|first| first.link));
    }

    /// Appends up to `limit` keys from `high` down to `found`, descending.
    pub fn descending(&self, high: Bound<&[u8]>, limit: usize, found: &mut Vec<Link>) {
        let high = high.map(LookupKey::new);
        let high: Bound<&dyn SortKey> = high.as_ref().map(|sought| sought as &dyn SortKey);
        let range = self.keys.range::<dyn SortKey, _>((Bound::Unbounded, high));
        found.extend(range.rev().take(limit).map(|first| first.link));
    }
}

/// A key to compare. Most comparisons end at its first 16 bytes, which are stored inline.
trait SortKey {
    fn prefix(&self) -> u128;
    fn key(&self) -> &[u8];
}

/// The first version of a key, ordered by the key, which is in the node.
struct NodeKey {
    prefix: u128,
    nodes: Arc<NodeArena>,
    link: Link,
}

/// A key to look up.
struct LookupKey<'a> {
    prefix: u128,
    key: &'a [u8],
}

/// The first 16 bytes of `key` as a number that orders as they do.
fn prefix(key: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    let len = key.len().min(16);
    bytes[..len].copy_from_slice(&key[..len]);
    u128::from_be_bytes(bytes)
}

impl NodeKey {
    fn new(nodes: &Arc<NodeArena>, link: Link) -> Self {
        Self { prefix: prefix(nodes.get(link).key()), nodes: Arc::clone(nodes), link }
    }
}

impl<'a> LookupKey<'a> {
    fn new(key: &'a [u8]) -> Self {
        Self { prefix: prefix(key), key }
    }
}

impl SortKey for NodeKey {
    fn prefix(&self) -> u128 {
        self.prefix
    }

    fn key(&self) -> &[u8] {
        self.nodes.get(self.link).key()
    }
}

impl SortKey for LookupKey<'_> {
    fn prefix(&self) -> u128 {
        self.prefix
    }

    fn key(&self) -> &[u8] {
        self.key
    }
}

fn compare<A: SortKey + ?Sized, B: SortKey + ?Sized>(one: &A, other: &B) -> Ordering {
    one.prefix().cmp(&other.prefix()).then_with(|| one.key().cmp(other.key()))
}

impl<'a> Borrow<dyn SortKey + 'a> for NodeKey {
    fn borrow(&self) -> &(dyn SortKey + 'a) {
        self
    }
}

impl PartialEq for dyn SortKey + '_ {
    fn eq(&self, other: &Self) -> bool {
        compare(self, other).is_eq()
    }
}

impl Eq for dyn SortKey + '_ {}

impl PartialOrd for dyn SortKey + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for dyn SortKey + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self, other)
    }
}

impl PartialEq for NodeKey {
    fn eq(&self, other: &Self) -> bool {
        compare(self, other).is_eq()
    }
}

impl Eq for NodeKey {}

impl PartialOrd for NodeKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for NodeKey {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self, other)
    }
}
