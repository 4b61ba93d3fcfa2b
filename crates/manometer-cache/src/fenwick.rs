//! How much was requested since: sums over the places of a list, kept while places are taken and given back.

/// Places in the order of their last requests, each with what stands there.
pub(crate) trait FenwickTree {
    /// Room for so many places.
    fn with_capacity(places: usize) -> Self;

    /// How many places there is room for.
    fn capacity(&self) -> usize;

    /// Takes a free place.
    fn insert(&mut self, place: usize, weight: u64);

    /// Gives a place back that was taken with this weight.
    fn remove(&mut self, place: usize, weight: u64);

    /// The weight of all places that are taken.
    fn total(&self) -> u64;

    /// The weight of all places that are taken behind this one.
    fn sum_after(&self, place: usize) -> u64;
}

/// Every place weighs 1: a bit for each, and a Fenwick tree over words of them, small enough for a core's cache.
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

/// Every place weighs its bytes: a Fenwick tree over places.
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
