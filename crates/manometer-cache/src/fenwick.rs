//! Fenwick trees over positions in the order of last requests.

/// Positions with a weight each.
pub(crate) trait FenwickTree {
    /// Room for `places` positions.
    fn with_capacity(places: usize) -> Self;

    /// The number of positions.
    fn capacity(&self) -> usize;

    /// Adds a weight at a free position.
    fn insert(&mut self, place: usize, weight: u64);

    /// Removes the weight at a position.
    fn remove(&mut self, place: usize, weight: u64);

    /// The sum of all weights.
    fn total(&self) -> u64;

    /// The sum of the weights after a position.
    fn sum_after(&self, place: usize) -> u64;
}

/// Unit weights: a bit per position, and a Fenwick tree over words of bits, small enough for a core's cache.
pub(crate) struct CountTree {
    bits: Vec<u64>,
    tree: Vec<u32>,
    taken: u64,
}

impl FenwickTree for CountTree {
    fn with_capacity(places: usize) -> Self {
        let words = places.div_ceil(64).max(1);
        Self { bits: vec![0; words], tree: vec![0; words + 1], taken: 0 }
    }

    fn capacity(&self) -> usize {
        self.bits.len() * 64
    }

    #[inline]
    fn insert(&mut self, place: usize, _: u64) {
        self.bits[place / 64] |= 1 << (place % 64);
        self.taken += 1;
        add(&mut self.tree, place / 64, 1);
    }

    #[inline]
    fn remove(&mut self, place: usize, _: u64) {
        self.bits[place / 64] &= !(1 << (place % 64));
        self.taken -= 1;
        add(&mut self.tree, place / 64, u32::MAX);
    }

    fn total(&self) -> u64 {
        self.taken
    }

    #[inline]
    fn sum_after(&self, place: usize) -> u64 {
        let word = place / 64;
        let until = u64::from((self.bits[word] & (u64::MAX >> (63 - place % 64))).count_ones());
        let mut before = 0_u32;
        let mut node = word;
        while node > 0 {
            before = before.wrapping_add(self.tree[node]);
            node &= node - 1;
        }
        self.taken - until - u64::from(before)
    }
}

#[inline]
fn add(tree: &mut [u32], word: usize, count: u32) {
    let mut node = word + 1;
    while node < tree.len() {
        tree[node] = tree[node].wrapping_add(count);
        node += node & node.wrapping_neg();
    }
}

/// Weights in bytes: a Fenwick tree over positions.
pub(crate) struct ByteTree {
    tree: Vec<u64>,
    taken: u64,
}

impl ByteTree {
    fn add(&mut self, place: usize, bytes: u64) {
        let mut node = place + 1;
        while node < self.tree.len() {
            self.tree[node] = self.tree[node].wrapping_add(bytes);
            node += node & node.wrapping_neg();
        }
    }
}

impl FenwickTree for ByteTree {
    fn with_capacity(places: usize) -> Self {
        Self { tree: vec![0; places.max(1) + 1], taken: 0 }
    }

    fn capacity(&self) -> usize {
        self.tree.len() - 1
    }

    fn insert(&mut self, place: usize, weight: u64) {
        self.taken += weight;
        self.add(place, weight);
    }

    fn remove(&mut self, place: usize, weight: u64) {
        self.taken -= weight;
        self.add(place, weight.wrapping_neg());
    }

    fn total(&self) -> u64 {
        self.taken
    }

    fn sum_after(&self, place: usize) -> u64 {
        let mut until = 0_u64;
        let mut node = place + 1;
        while node > 0 {
            until = until.wrapping_add(self.tree[node]);
            node &= node - 1;
        }
        self.taken - until
    }
}
