//! Exponential over age: the newest record is the most popular; each older one less by a constant factor.
//!
//! As in YCSB, the age is an exponential number rounded down; an age without a record is drawn again.

use rand_xoshiro::rand_core::Rng as _;

use super::Random;

/// Exponential over age.
#[derive(Debug, Clone, Copy)]
pub struct Exponential {
    mean: f64,
}

/// The rate at which popularity falls with age, where the share `percentile` (in percent) of all requests
/// goes to the last `fraction` of `records` records.
pub fn rate(records: u64, percentile: f64, fraction: f64) -> f64 {
    -(-percentile / 100.0).ln_1p() / (records as f64 * fraction)
}

impl Exponential {
    /// Over ages, falling at [`rate`].
    pub fn new(rate: f64) -> Self {
        Self { mean: 1.0 / rate }
    }

    /// The next record of `there` existing ones, of which the last is the newest.
    #[inline]
    pub fn draw(&self, there: u64, random: &mut Random) -> u64 {
        // Inversion of the exponential, truncated at the oldest record. Drawing again, as YCSB does, gives the same
        // shares, but takes unbounded time.
        let u = (random.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64);
        let within = -(-(there as f64) / self.mean).exp_m1();
        let age = (-(-u * within).ln_1p() * self.mean) as u64;
        there - 1 - age.min(there - 1)
    }
}
