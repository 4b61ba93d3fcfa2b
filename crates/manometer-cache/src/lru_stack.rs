//! The LRU stack of all keys and the stack distance of each request (Mattson and others, IBM Systems Journal 1970).
//!
//! A cache hits exactly the requests whose stack distance is at most its capacity, so that one pass over a trace gives
//! the misses of every capacity.

use crate::fenwick::FenwickTree;
use crate::key_id::KeyId;
use crate::weight::Weight;

const NOWHERE: u32 = u32::MAX;
/// The initial number of positions.
const PLACES_MIN: usize = 1 << 12;

/// Keys by last request.
pub(crate) struct LruStack<D, W> {
    tree: D,
    /// The position of each key.
    places: Vec<u32>,
    weights: Vec<W>,
    /// The key at each position, if it is still there.
    owners: Vec<KeyId>,
    next: usize,
    oldest: usize,
    len: usize,
}

impl<D: FenwickTree, W: Weight> LruStack<D, W> {
    pub(crate) fn new() -> Self {
        let tree = D::with_capacity(PLACES_MIN);
        let owners = vec![0; tree.capacity()];
        Self { tree, places: Vec::new(), weights: Vec::new(), owners, next: 0, oldest: 0, len: 0 }
    }

    /// The number of keys.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Moves a key to the top. Returns its stack distance: the weight of the keys above it, and its own current weight.
    /// `None` if it is new.
    #[inline]
    pub(crate) fn touch(&mut self, id: KeyId, size: u64) -> Option<u64> {
        if self.next == self.owners.len() {
            self.compact();
        }
        let key = id as usize;
        if key >= self.places.len() {
            self.places.resize(key + 1, NOWHERE);
            self.weights.resize(key + 1, W::of(0));
        }
        let depth = self.unlink(id).map(|above| above + W::of(size).get());
        self.places[key] = self.next as u32;
        self.weights[key] = W::of(size);
        self.owners[self.next] = id;
        self.tree.insert(self.next, W::of(size).get());
        self.next += 1;
        self.len += 1;
        depth
    }

    /// The weight of all keys.
    pub(crate) fn total(&self) -> u64 {
        self.tree.total()
    }

    /// The weight of a key; 0 if it is not in the stack.
    #[inline]
    pub(crate) fn weight(&self, id: KeyId) -> u64 {
        let place = self.places.get(id as usize).copied().unwrap_or(NOWHERE);
        if place == NOWHERE { 0 } else { self.weights[id as usize].get() }
    }

    /// Removes a key.
    pub(crate) fn remove(&mut self, id: KeyId) {
        self.unlink(id);
    }

    /// Removes the least recently used key. Returns it and its weight.
    pub(crate) fn pop_oldest(&mut self) -> Option<(KeyId, u64)> {
        while self.oldest < self.next {
            let id = self.owners[self.oldest];
            if self.places[id as usize] == self.oldest as u32 {
                let weight = self.weight(id);
                self.unlink(id);
                return Some((id, weight));
            }
            self.oldest += 1;
        }
        None
    }

    /// Removes a key. Returns the weight above it.
    #[inline]
    fn unlink(&mut self, id: KeyId) -> Option<u64> {
        let place = std::mem::replace(&mut self.places[id as usize], NOWHERE);
        if place == NOWHERE {
            return None;
        }
        let above = self.tree.sum_after(place as usize);
        self.tree.remove(place as usize, self.weights[id as usize].get());
        self.len -= 1;
        Some(above)
    }

    /// Moves all keys to the first positions, in order, with as many free positions after them.
    fn compact(&mut self) {
        let owners = std::mem::take(&mut self.owners);
        self.tree = D::with_capacity(PLACES_MIN.max(2 * self.len));
        self.owners = vec![0; self.tree.capacity()];
        (self.next, self.oldest) = (0, 0);
        for (place, id) in owners.into_iter().enumerate() {
            if self.places[id as usize] == place as u32 {
                self.places[id as usize] = self.next as u32;
                self.owners[self.next] = id;
                self.tree.insert(self.next, self.weights[id as usize].get());
                self.next += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fenwick::{ByteTree, CountTree};
    use crate::weight::{ByteWeight, UnitWeight};
    use proptest::prelude::*;

    fn check<D: FenwickTree, W: Weight>(requests: &[(KeyId, u64)], limit: usize) {
        let mut stack = LruStack::<D, W>::new();
        let mut plain: Vec<(KeyId, u64)> = Vec::new();
        for (id, size) in requests {
            let size = W::of(*size).get();
            let at = plain.iter().position(|(other, _)| other == id);
            let depth = at.map(|at| {
                let above: u64 = plain[at + 1..].iter().map(|(_, size)| size).sum();
                plain.remove(at);
                above + size
            });
            plain.push((*id, size));
            assert_eq!(stack.touch(*id, size), depth);
            if plain.len() > limit {
                assert_eq!(stack.pop_oldest(), Some(plain.remove(0)));
            }
            assert_eq!(stack.len(), plain.len());
        }
    }

    proptest! {
        #[test]
        fn depths_are_those_of_a_plain_list(
            requests in prop::collection::vec((0_u32..40, 0_u64..100), 0..600), limit in 1_usize..50,
        ) {
            check::<CountTree, UnitWeight>(&requests, limit);
            check::<ByteTree, ByteWeight>(&requests, limit);
        }
    }

    #[test]
    fn places_that_run_out_are_made_again() {
        let mut stack = LruStack::<CountTree, UnitWeight>::new();
        for number in 0..100_000_u32 {
            assert_eq!(stack.touch(number % 3000, 1), (number >= 3000).then_some(3000));
        }
    }
}
