//! Uniform over all records.

use rand_xoshiro::rand_core::Rng as _;

use super::Random;

/// Uniform over all records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Uniform {
    records: u64,
}

impl Uniform {
    /// Over the records 0 to `records` - 1.
    pub fn new(records: u64) -> Self {
        Self { records }
    }

    /// The next record. Multiplying instead of dividing leaves a bias below `records` / 2^64.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        ((u128::from(random.next_u64()) * u128::from(self.records)) >> 64) as u64
    }

    /// How many records there are.
    pub fn count(&self) -> u64 {
        self.records
    }
}
