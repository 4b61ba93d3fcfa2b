//! Exact Zipf whose popular records are scattered over the key space.

use super::{Permutation, Random, ZipfSteps};

/// Exact Zipf whose popular records are scattered over the key space.
#[derive(Debug, Clone)]
pub struct ScatteredZipf {
    zipf: ZipfSteps,
    permutation: Permutation,
}

impl ScatteredZipf {
    /// Over the records 0 to `records` - 1; `seed` decides which are popular.
    pub fn new(records: u64, exponent: f64, seed: u64) -> Self {
        Self { zipf: ZipfSteps::new(records, exponent), permutation: Permutation::new(records, seed) }
    }

    /// The next record.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        self.permutation.of(self.zipf.draw(random))
    }

    /// The record of rank `rank`.
    pub fn record_of(&self, rank: u64) -> u64 {
        self.permutation.of(rank)
    }
}
