//! The newest records most often: exact Zipf over their age, on a growing number of records.

use super::{Random, ZipfDistribution};

/// The newest records most often.
#[derive(Debug, Clone, Copy)]
pub struct Latest {
    age: ZipfDistribution,
    exponent: f64,
}

impl Latest {
    /// Over the records 0 to `records` - 1, of which the last is the newest.
    pub fn new(records: u64, exponent: f64) -> Self {
        Self { age: ZipfDistribution::new(records, exponent), exponent }
    }

    /// The next record of `there` existing ones.
    #[inline]
    pub fn draw(&mut self, there: u64, random: &mut Random) -> u64 {
        if there != self.age.count() {
            self.age = ZipfDistribution::new(there, self.exponent);
        }
        there - 1 - self.age.draw(random)
    }
}
