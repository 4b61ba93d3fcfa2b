//! A count-min sketch of recent request frequencies, with ageing by halving.
//!
//! Four rows of counters up to 15; a key has one counter in each row, and its count is the least of them. After ten
//! requests per counter of a fully used row all counters are halved (Einziger, Friedman and Manes, TinyLFU, ACM
//! Transactions on Storage 2017).

use crate::key_id::KeyId;

const ROWS: usize = 4;
const COUNT_MAX: u8 = 15;
const REQUESTS_PER_OBJECT: u64 = 10;
const COUNTERS_MIN: u64 = 16;

/// Odd multipliers that map a key to its counter in each row.
const SPREADS: [u64; ROWS] =
    [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f, 0x1656_67b1_9e37_79f9, 0xff51_afd7_ed55_8ccd];

/// The counters.
#[derive(Debug)]
pub(crate) struct CountMinSketch {
    counters: Vec<u8>,
    /// A row has 2^(64 - shift) counters.
    shift: u32,
    added: u64,
    period: u64,
}

impl CountMinSketch {
    /// A sketch for `objects` objects.
    pub(crate) fn new(objects: u64) -> Self {
        let row = objects.max(COUNTERS_MIN).next_power_of_two();
        let shift = 64 - row.ilog2();
        Self { counters: vec![0; ROWS * row as usize], shift, added: 0, period: REQUESTS_PER_OBJECT * objects.max(1) }
    }

    fn counters(&self, id: KeyId) -> [usize; ROWS] {
        let row = self.counters.len() / ROWS;
        std::array::from_fn(|at| at * row + ((u64::from(id) + 1).wrapping_mul(SPREADS[at]) >> self.shift) as usize)
    }

    /// The recent frequency of a key.
    #[inline]
    pub(crate) fn count(&self, id: KeyId) -> u8 {
        self.counters(id).map(|at| self.counters[at]).into_iter().min().unwrap_or(0)
    }

    /// Counts a request.
    #[inline]
    pub(crate) fn add(&mut self, id: KeyId) {
        for at in self.counters(id) {
            self.counters[at] = (self.counters[at] + 1).min(COUNT_MAX);
        }
        self.added += 1;
        if self.added == self.period {
            self.counters.iter_mut().for_each(|counter| *counter /= 2);
            self.added /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_counts_at_least_its_requests_and_half_of_them_after_a_while() {
        let mut sketch = CountMinSketch::new(100);
        for id in 0..100 {
            (0..id % 9).for_each(|_| sketch.add(id));
        }
        let counts: Vec<u8> = (0..100).map(|id| sketch.count(id)).collect();
        assert!((0..100).all(|id| u32::from(counts[id]) >= id as u32 % 9));
        let exact = (0..100).filter(|id| u32::from(counts[*id]) == *id as u32 % 9).count();
        assert!(exact > 90, "{exact}");
        let added: u32 = (0..100).map(|id| id % 9).sum();
        (added..1000).for_each(|_| sketch.add(99));
        assert_eq!(sketch.count(99), 7);
        assert!((0..99).all(|id| sketch.count(id) <= counts[id as usize].div_ceil(2) + 7));
    }
}
