//! A heap of objects that are also found by key ID.

use crate::huge_pages::filled_table;
use crate::key_id::KeyId;

/// The arity of the heap.
const BRANCHES: usize = 4;
const NOWHERE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Entry<K, V> {
    rank: K,
    id: KeyId,
    value: V,
}

/// Objects with a rank and a value each.
#[derive(Debug)]
pub(crate) struct IndexedHeap<K, V> {
    entries: Vec<Entry<K, V>>,
    places: Vec<u32>,
}

impl<K: Copy + Ord, V: Copy> IndexedHeap<K, V> {
    /// For key IDs below `keys`.
    pub(crate) fn new(keys: usize) -> Self {
        Self { entries: Vec::new(), places: filled_table(NOWHERE, keys) }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The rank and the value of an object.
    #[inline]
    pub(crate) fn get(&self, id: KeyId) -> Option<(K, V)> {
        let entry = self.entries.get(self.places[id as usize] as usize)?;
        Some((entry.rank, entry.value))
    }

    /// Adds an object that does not exist.
    #[inline]
    pub(crate) fn insert(&mut self, id: KeyId, rank: K, value: V) {
        self.entries.push(Entry { rank, id, value });
        self.rise(self.entries.len() - 1);
    }

    /// Changes the rank and the value of an object.
    #[inline]
    pub(crate) fn update(&mut self, id: KeyId, rank: K, value: V) {
        let at = self.places[id as usize] as usize;
        self.entries[at] = Entry { rank, id, value };
        self.settle(at);
    }

    /// The object with the lowest rank.
    #[inline]
    pub(crate) fn lowest(&self) -> Option<(KeyId, K, V)> {
        self.entries.first().map(|entry| (entry.id, entry.rank, entry.value))
    }

    /// Removes an object.
    #[inline]
    pub(crate) fn remove(&mut self, id: KeyId) {
        let at = self.places[id as usize] as usize;
        self.places[id as usize] = NOWHERE;
        self.entries.swap_remove(at);
        if at < self.entries.len() {
            self.settle(at);
        }
    }

    fn settle(&mut self, at: usize) {
        let at = self.rise(at);
        self.sink(at);
    }

    fn place(&mut self, at: usize, entry: Entry<K, V>) {
        self.entries[at] = entry;
        self.places[entry.id as usize] = at as u32;
    }

    fn rise(&mut self, mut at: usize) -> usize {
        let entry = self.entries[at];
        while at > 0 {
            let above = (at - 1) / BRANCHES;
            if self.entries[above].rank <= entry.rank {
                break;
            }
            self.place(at, self.entries[above]);
            at = above;
        }
        self.place(at, entry);
        at
    }

    fn sink(&mut self, mut at: usize) {
        let entry = self.entries[at];
        loop {
            let first = at * BRANCHES + 1;
            let branches = first..(first + BRANCHES).min(self.entries.len());
            let Some(below) = branches.min_by_key(|below| self.entries[*below].rank) else { break };
            if self.entries[below].rank >= entry.rank {
                break;
            }
            self.place(at, self.entries[below]);
            at = below;
        }
        self.place(at, entry);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_lowest_is_the_least(steps in prop::collection::vec((0_u8..3, 0_u32..50, 0_u32..1000), 0..400)) {
            let (mut heap, mut plain) = (IndexedHeap::new(50), BTreeMap::new());
            for (step, id, rank) in steps {
                let rank = (rank, id);
                match (step, heap.get(id)) {
                    (0, None) => heap.insert(id, rank, id),
                    (1, Some(_)) => heap.update(id, rank, id),
                    (2, Some(_)) => heap.remove(id),
                    _ => continue,
                }
                if step == 2 { plain.remove(&id) } else { plain.insert(id, rank) };
                prop_assert_eq!(heap.len(), plain.len());
                prop_assert_eq!(heap.lowest().map(|(_, rank, _)| rank), plain.values().min().copied());
                prop_assert!((0..50).all(|id| heap.get(id).map(|(rank, _)| rank) == plain.get(&id).copied()));
            }
        }
    }
}
