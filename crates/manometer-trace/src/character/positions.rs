//! The order of keys by last request, and the number of keys after a position in it.
//!
//! A bit per position, and a Fenwick tree over words of bits: small enough for a core's cache.

/// Positions, some of which are taken.
#[derive(Debug, Clone, Default)]
pub(super) struct Positions {
    bits: Vec<u64>,
    tree: Vec<u32>,
    next: usize,
    taken: u64,
}

impl Positions {
    /// Room for `places` positions, the first `taken` of which are taken.
    pub(super) fn with_room(places: usize, taken: usize) -> Self {
        let words = places.div_ceil(64);
        let mut positions = Self { bits: vec![0; words], tree: vec![0; words + 1], next: 0, taken: 0 };
        (0..taken).for_each(|_| {
            positions.take_next();
        });
        positions
    }

    /// Whether a position is left.
    pub(super) fn has_room(&self) -> bool {
        self.next < self.bits.len() * 64
    }

    /// Takes the next position.
    pub(super) fn take_next(&mut self) -> usize {
        let place = self.next;
        self.bits[place / 64] |= 1 << (place % 64);
        self.add(place / 64, 1);
        self.next += 1;
        self.taken += 1;
        place
    }

    /// Releases a position.
    pub(super) fn free(&mut self, place: usize) {
        self.bits[place / 64] &= !(1 << (place % 64));
        self.add(place / 64, u32::MAX);
        self.taken -= 1;
    }

    /// The number of taken positions after `place`.
    pub(super) fn taken_after(&self, place: usize) -> u64 {
        let word = place / 64;
        let below = u64::MAX >> (63 - place % 64);
        let mut until = u64::from((self.bits[word] & below).count_ones());
        let mut node = word;
        while node > 0 {
            until += u64::from(self.tree[node]);
            node &= node - 1;
        }
        self.taken - until
    }

    /// The taken positions in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let places = |(word, bits): (usize, &u64)| {
            let bits = *bits;
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * 64 + bit)
        };
        self.bits.iter().enumerate().filter(|(_, bits)| **bits != 0).flat_map(places)
    }

    /// Adds to a word's count; `u32::MAX` subtracts one.
    fn add(&mut self, word: usize, count: u32) {
        let mut node = word + 1;
        while node < self.tree.len() {
            self.tree[node] = self.tree[node].wrapping_add(count);
            node += node & node.wrapping_neg();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn places_behind_are_counted(
            taken in 0_usize..300, freed in prop::collection::btree_set(0_usize..300, 0..100),
        ) {
            let mut positions = Positions::with_room(300, taken);
            let freed: Vec<usize> = freed.into_iter().filter(|place| *place < taken).collect();
            freed.iter().for_each(|place| positions.free(*place));
            let left: Vec<usize> = (0..taken).filter(|place| !freed.contains(place)).collect();
            prop_assert_eq!(&positions.iter().collect::<Vec<_>>(), &left);
            for place in 0..taken {
                let after = left.iter().filter(|other| **other > place).count() as u64;
                prop_assert_eq!(positions.taken_after(place), after);
            }
        }
    }
}
