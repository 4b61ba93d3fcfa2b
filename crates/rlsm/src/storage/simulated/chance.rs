//! Chance from a seed.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A stream of numbers that a seed determines.
#[derive(Debug)]
pub(super) struct Chance {
    seed: u64,
    drawn: u64,
}

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    /// Another stream, the same for the same seed and `number`, whatever was drawn from this one.
    pub fn of(&self, number: u64) -> Self {
        Self::new(xxh3_64_with_seed(&number.to_le_bytes(), !self.seed))
    }

    pub fn number(&mut self) -> u64 {
        self.drawn += 1;
        xxh3_64_with_seed(&self.drawn.to_le_bytes(), self.seed)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + (self.number() % (high - low + 1) as u64) as usize
    }

    /// True once in `times`.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.number().is_multiple_of(times)
    }
}
