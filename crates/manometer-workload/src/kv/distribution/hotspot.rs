//! A hot set that gets its own share of the requests; uniform within it and outside.
//!
//! As in YCSB, the hot set is the records of the lowest numbers.

use rand_xoshiro::rand_core::Rng as _;

use super::{Random, Uniform};

/// A hot set and the rest.
#[derive(Debug, Clone, Copy)]
pub struct Hotspot {
    /// A draw of 63 bits below this is of the hot set.
    below: u64,
    hot_records: u64,
    hot: Uniform,
    cold: Uniform,
}

/// How many of `records` records are hot where their share is `hot`.
pub fn hot_records(records: u64, hot: f64) -> u64 {
    ((records as f64 * hot) as u64).min(records)
}

impl Hotspot {
    /// Over the records 0 to `records` - 1, of which the share `hot` gets the share `requests` of the requests.
    pub fn new(records: u64, hot: f64, requests: f64) -> Self {
        let hot_records = hot_records(records, hot);
        Self {
            below: (requests * (1_u64 << 63) as f64) as u64,
            hot_records,
            hot: Uniform::new(hot_records),
            cold: Uniform::new(records - hot_records),
        }
    }

    /// The next record.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        if random.next_u64() >> 1 < self.below {
            self.hot.draw(random)
        } else {
            self.hot_records + self.cold.draw(random)
        }
    }
}
