//! Seeded random numbers.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A stream of numbers that a seed determines.
#[derive(Debug)]
pub(super) struct SeededRng {
    seed: u64,
    drawn: u64,
}

impl SeededRng {
    pub fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    /// Another stream, determined by the seed and `number`, independent of the numbers drawn so far.
    pub fn of(&self, number: u64) -> Self {
        Self::new(xxh3_64_with_seed(&number.to_le_bytes(), !self.seed))
    }

    pub fn number(&mut self) -> u64 {
        self.drawn += 1;
        xxh3_64_with_seed(&self.drawn.to_le_bytes(), self.seed)
    }

    /// A number from `low` to `high`, inclusive.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + (self.number() % (high - low + 1) as u64) as usize
    }

    /// True with probability 1 / `times`.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.number().is_multiple_of(times)
    }
}
