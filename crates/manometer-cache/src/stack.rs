//! The LRU stack of all keys: how deep each request reaches into it (Mattson and others, IBM Systems Journal 1970).
//!
//! A cache of some capacity hits just the requests that reach no deeper, so that one walk over a trace tells the misses
//! of every capacity.

use crate::depths::Depths;
use crate::number::Id;
use crate::weight::Weight;

const NOWHERE: u32 = u32::MAX;
/// The fewest places that are made at a time.
const PLACES_MIN: usize = 1 << 12;

/// Keys by their last requests.
pub(crate) struct Stack<D, W> {
    depths: D,
    /// Where each key stands.
    places: Vec<u32>,
    weights: Vec<W>,
    /// The key at each place, if it still stands there.
    owners: Vec<Id>,
    next: usize,
    oldest: usize,
    len: usize,
}

impl<D: Depths, W: Weight> Stack<D, W> {
    pub(crate) fn new() -> Self {
        let depths = D::with_room(PLACES_MIN);
        let owners = vec![0; depths.room()];
        Self { depths, places: Vec::new(), weights: Vec::new(), owners, next: 0, oldest: 0, len: 0 }
    }

    /// How many keys it holds.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Moves a key to the top: what the keys above it weigh with itself, by its weight of now; none where it was not
    /// there.
    #[inline]
    pub(crate) fn request(&mut self, id: Id, size: u64) -> Option<u64> {
        if self.next == self.owners.len() {
            self.compact();
        }
        let key = id as usize;
        if key >= self.places.len() {
            self.places.resize(key + 1, NOWHERE);
            self.weights.resize(key + 1, W::of(0));
        }
        let depth = self.take_out(id).map(|above| above + W::of(size).get());
        self.places[key] = self.next as u32;
        self.weights[key] = W::of(size);
        self.owners[self.next] = id;
        self.depths.take(self.next, W::of(size).get());
        self.next += 1;
        self.len += 1;
        depth
    }

    /// What all keys weigh.
    pub(crate) fn total(&self) -> u64 {
        self.depths.total()
    }

    /// What a key weighs; 0 where it is not there.
    #[inline]
    pub(crate) fn weight(&self, id: Id) -> u64 {
        let place = self.places.get(id as usize).copied().unwrap_or(NOWHERE);
        if place == NOWHERE { 0 } else { self.weights[id as usize].get() }
    }

    /// Takes a key out.
    pub(crate) fn forget(&mut self, id: Id) {
        self.take_out(id);
    }

    /// Takes the key out that was not requested for longest: which, and what it weighs.
    pub(crate) fn pop_oldest(&mut self) -> Option<(Id, u64)> {
        while self.oldest < self.next {
            let id = self.owners[self.oldest];
            if self.places[id as usize] == self.oldest as u32 {
                let weight = self.weight(id);
                self.take_out(id);
                return Some((id, weight));
            }
            self.oldest += 1;
        }
        None
    }

    /// What stands above a key that is taken out.
    #[inline]
    fn take_out(&mut self, id: Id) -> Option<u64> {
        let place = std::mem::replace(&mut self.places[id as usize], NOWHERE);
        if place == NOWHERE {
            return None;
        }
        let above = self.depths.after(place as usize);
        self.depths.give_back(place as usize, self.weights[id as usize].get());
        self.len -= 1;
        Some(above)
    }

    /// Moves all keys to the first places, in their order, with as many places behind them.
    fn compact(&mut self) {
        let owners = std::mem::take(&mut self.owners);
        self.depths = D::with_room(PLACES_MIN.max(2 * self.len));
        self.owners = vec![0; self.depths.room()];
        (self.next, self.oldest) = (0, 0);
        for (place, id) in owners.into_iter().enumerate() {
            if self.places[id as usize] == place as u32 {
                self.places[id as usize] = self.next as u32;
                self.owners[self.next] = id;
                self.depths.take(self.next, self.weights[id as usize].get());
                self.next += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::depths::{Counted, Weighed};
    use crate::weight::{Bytes, One};
    use proptest::prelude::*;

    fn check<D: Depths, W: Weight>(requests: &[(Id, u64)], limit: usize) {
        let mut stack = Stack::<D, W>::new();
        let mut plain: Vec<(Id, u64)> = Vec::new();
        for (id, size) in requests {
            let size = W::of(*size).get();
            let at = plain.iter().position(|(other, _)| other == id);
            let depth = at.map(|at| {
                let above: u64 = plain[at + 1..].iter().map(|(_, size)| size).sum();
                plain.remove(at);
                above + size
            });
            plain.push((*id, size));
            assert_eq!(stack.request(*id, size), depth);
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
            check::<Counted, One>(&requests, limit);
            check::<Weighed, Bytes>(&requests, limit);
        }
    }

    #[test]
    fn places_that_run_out_are_made_again() {
        let mut stack = Stack::<Counted, One>::new();
        for number in 0..100_000_u32 {
            assert_eq!(stack.request(number % 3000, 1), (number >= 3000).then_some(3000));
        }
    }
}
