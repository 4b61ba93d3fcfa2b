//! Exact Zipf: rank k is drawn with probability k^-s / (1^-s + … + n^-s), for any exponent s above 0.
//!
//! Drawn by rejection from `rand_distr`, in double precision and without a table.

use rand_distr::Distribution as _;

use super::{Random, Scatter};

/// Exact Zipf over ranks.
#[derive(Debug, Clone, Copy)]
pub struct Zipf {
    ranks: rand_distr::Zipf<f64>,
    count: u64,
}

impl Zipf {
    /// Over the ranks 0 to `count` - 1.
    ///
    /// # Panics
    /// `count` is 0, or `exponent` is not above 0.
    pub fn new(count: u64, exponent: f64) -> Self {
        assert!(count > 0 && exponent > 0.0, "a Zipf distribution needs ranks and an exponent above 0");
        let ranks = rand_distr::Zipf::new(count as f64, exponent).expect("count and exponent were checked");
        Self { ranks, count }
    }

    /// The next rank, 0 the most popular.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        // Rounding may carry the last rank one too far.
        (self.ranks.sample(random) as u64).clamp(1, self.count) - 1
    }
}

/// Exact Zipf whose popular records lie anywhere among the others.
#[derive(Debug, Clone, Copy)]
pub struct ScatteredZipf {
    zipf: Zipf,
    scatter: Scatter,
}

impl ScatteredZipf {
    /// Over the records 0 to `records` - 1; `seed` decides which are popular.
    pub fn new(records: u64, exponent: f64, seed: u64) -> Self {
        Self { zipf: Zipf::new(records, exponent), scatter: Scatter::new(records, seed) }
    }

    /// The next record.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        self.scatter.of(self.zipf.draw(random))
    }

    /// The record of rank `rank`.
    pub fn record_of(&self, rank: u64) -> u64 {
        self.scatter.of(rank)
    }
}
