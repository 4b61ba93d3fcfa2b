//! The keys of a memtable in key order, for who reads them so.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use crossbeam_skiplist::SkipSet;

use super::nodes::{Link, Nodes};

/// What one key takes in the skip list: itself, a tower of two links on average, the list's own count, the allocator's.
pub(super) const BYTES_PER_KEY: u64 = size_of::<First>() as u64 + 2 * 8 + 8 + 8;

/// A skip list over the first versions of keys.
pub(super) struct Ordered {
    nodes: Arc<Nodes>,
    keys: SkipSet<First>,
}

impl Ordered {
    pub fn new(nodes: &Arc<Nodes>) -> Self {
        Self { nodes: Arc::clone(nodes), keys: SkipSet::new() }
    }

    /// Takes up the key whose first version is `link`; does nothing if it is there.
    pub fn insert(&self, link: Link) {
        self.keys.get_or_insert(First::new(&self.nodes, link));
    }

    /// Takes up all keys among the first `len` nodes, in their order: that finds each place where the last one was.
    pub fn fill(&self, len: u32) {
        let mut firsts: Vec<First> =
            (1..=len).filter(|&link| self.nodes.get(link).is_first).map(|link| First::new(&self.nodes, link)).collect();
        firsts.sort_unstable();
        for first in firsts {
            self.keys.get_or_insert(first);
        }
    }

    /// All keys, ascending.
    pub fn links(&self) -> impl Iterator<Item = Link> {
        self.keys.iter().map(|first| first.link)
    }

    /// Puts up to `limit` keys from `low` on into `found`, ascending.
    pub fn ascending(&self, low: Bound<&[u8]>, limit: usize, found: &mut Vec<Link>) {
        let low = low.map(Sought::new);
        let low: Bound<&dyn Keyed> = low.as_ref().map(|sought| sought as &dyn Keyed);
        found.extend(self.keys.range::<dyn Keyed, _>((low, Bound::Unbounded)).take(limit).map(|first| first.link));
    }

    /// Puts up to `limit` keys from `high` on into `found`, descending.
    pub fn descending(&self, high: Bound<&[u8]>, limit: usize, found: &mut Vec<Link>) {
        let high = high.map(Sought::new);
        let high: Bound<&dyn Keyed> = high.as_ref().map(|sought| sought as &dyn Keyed);
        let range = self.keys.range::<dyn Keyed, _>((Bound::Unbounded, high));
        found.extend(range.rev().take(limit).map(|first| first.link));
    }
}

/// What has a key. Most comparisons end at the first 16 bytes, which are at hand; the rest lies elsewhere in memory.
trait Keyed {
    fn beginning(&self) -> u128;
    fn key(&self) -> &[u8];
}

/// A key's first version, ordered by the key, which lies where the version does.
struct First {
    beginning: u128,
    nodes: Arc<Nodes>,
    link: Link,
}

/// A key that is looked for.
struct Sought<'a> {
    beginning: u128,
    key: &'a [u8],
}

/// The first 16 bytes of `key` as a number that orders as they do.
fn beginning(key: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    let len = key.len().min(16);
    bytes[..len].copy_from_slice(&key[..len]);
    u128::from_be_bytes(bytes)
}

impl First {
    fn new(nodes: &Arc<Nodes>, link: Link) -> Self {
        Self { beginning: beginning(nodes.get(link).key()), nodes: Arc::clone(nodes), link }
    }
}

impl<'a> Sought<'a> {
    fn new(key: &'a [u8]) -> Self {
        Self { beginning: beginning(key), key }
    }
}

impl Keyed for First {
    fn beginning(&self) -> u128 {
        self.beginning
    }

    fn key(&self) -> &[u8] {
        self.nodes.get(self.link).key()
    }
}

impl Keyed for Sought<'_> {
    fn beginning(&self) -> u128 {
        self.beginning
    }

    fn key(&self) -> &[u8] {
        self.key
    }
}

fn compare<A: Keyed + ?Sized, B: Keyed + ?Sized>(one: &A, other: &B) -> Ordering {
    one.beginning().cmp(&other.beginning()).then_with(|| one.key().cmp(other.key()))
}

impl<'a> Borrow<dyn Keyed + 'a> for First {
    fn borrow(&self) -> &(dyn Keyed + 'a) {
        self
    }
}

impl PartialEq for dyn Keyed + '_ {
    fn eq(&self, other: &Self) -> bool {
        compare(self, other).is_eq()
    }
}

impl Eq for dyn Keyed + '_ {}

impl PartialOrd for dyn Keyed + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for dyn Keyed + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self, other)
    }
}

impl PartialEq for First {
    fn eq(&self, other: &Self) -> bool {
        compare(self, other).is_eq()
    }
}

impl Eq for First {}

impl PartialOrd for First {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for First {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self, other)
    }
}
