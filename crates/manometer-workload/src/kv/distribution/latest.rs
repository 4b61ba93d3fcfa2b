//! The records inserted last most often: exact Zipf over their age.

use super::{Random, Zipf};

/// The records inserted last most often.
#[derive(Debug, Clone, Copy)]
pub struct Latest {
    age: Zipf,
    last: u64,
}

impl Latest {
    /// Over the records 0 to `records` - 1, of which the last is the newest.
    pub fn new(records: u64, exponent: f64) -> Self {
        Self { age: Zipf::new(records, exponent), last: records - 1 }
    }

    /// The next record.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        self.last - self.age.draw(random)
    }
}
