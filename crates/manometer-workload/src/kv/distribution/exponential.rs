//! Exponential over age: the newest record most often, each older one less by the same factor.
//!
//! As in YCSB, the age is an exponential number rounded down, and an age at which there is no record is
//! drawn again.

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
        // Inversion of the exponential cut off at the oldest record: drawing again what is older, as YCSB does,
        // gives the same shares, but may take as long as it likes.
        let u = (random.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64);
        let within = -(-(there as f64) / self.mean).exp_m1();
        let age = (-(-u * within).ln_1p() * self.mean) as u64;
        there - 1 - age.min(there - 1)
    }
}
