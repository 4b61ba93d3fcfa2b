//! The records inserted last most often: exact Zipf over their age, however many there come to be.

use super::{Random, Zipf};

/// The records inserted last most often.
#[derive(Debug, Clone, Copy)]
pub struct Latest {
    age: Zipf,
    exponent: f64,
}

impl Latest {
    /// Over the records 0 to `records` - 1, of which the last is the newest.
    pub fn new(records: u64, exponent: f64) -> Self {
        Self { age: Zipf::new(records, exponent), exponent }
    }

    /// The next record of the `there` that are there by now.
    #[inline]
    pub fn draw(&mut self, there: u64, random: &mut Random) -> u64 {
        if there != self.age.count() {
            self.age = Zipf::new(there, self.exponent);
        }
        there - 1 - self.age.draw(random)
    }
}
