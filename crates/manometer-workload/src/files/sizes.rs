//! The sizes of files and appends.

use rand::RngExt as _;
use rand_distr::{Distribution as _, Gamma};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

/// The shape of Filebench's gamma distribution of sizes.
const SHAPE: f64 = 1.5;

/// The size of each file; the same seed gives the same sizes.
#[derive(Debug, Clone)]
pub(super) struct Sizes {
    gamma: Option<Gamma<f64>>,
    seed: u64,
}

impl Sizes {
    /// Sizes of `mean_bytes`, above 0, in the mean.
    pub(super) fn new(mean_bytes: u64, seed: u64) -> Self {
        // The distribution takes any scale above 0.
        Self { gamma: Gamma::new(SHAPE, mean_bytes as f64 / SHAPE).ok(), seed }
    }

    /// Bytes of the file `taken_file`, one at least.
    pub(super) fn of(&self, taken_file: u32) -> u64 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed.wrapping_add(u64::from(taken_file)));
        self.gamma.map_or(1, |gamma| (gamma.sample(&mut random).round() as u64).max(1))
    }
}

/// Bytes of an append, uniform with the mean `mean_bytes`.
pub(super) fn append_bytes(mean_bytes: u64, random: &mut Xoshiro256PlusPlus) -> u64 {
    random.random_range(1..=(2 * mean_bytes).saturating_sub(1).max(1))
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{ContinuousCDF as _, Gamma as Exact};

    use super::*;

    #[test]
    fn sizes_are_gamma_of_shape_one_and_a_half() {
        let mean_bytes = 131_072;
        let sizes = Sizes::new(mean_bytes, 7);
        let mut drawn: Vec<u64> = (0..100_000).map(|taken_file| sizes.of(taken_file)).collect();
        let mean = drawn.iter().sum::<u64>() as f64 / drawn.len() as f64;
        // The mean of so many scatters by 0.26 %.
        assert!((mean / mean_bytes as f64 - 1.0).abs() < 0.01, "{mean}");
        drawn.sort_unstable();
        let exact = Exact::new(1.5, 1.5 / mean_bytes as f64).unwrap();
        let count = drawn.len() as f64;
        let far = drawn.iter().enumerate().map(|(at, size)| (exact.cdf(*size as f64) - at as f64 / count).abs());
        // Kolmogorov and Smirnov's distance stays below 1.95 / sqrt(n) in 999 of 1000.
        assert!(far.fold(0.0, f64::max) < 1.95 / count.sqrt());
    }

    #[test]
    fn a_file_keeps_its_size_and_another_seed_has_others() {
        let (one, again, other) = (Sizes::new(1000, 1), Sizes::new(1000, 1), Sizes::new(1000, 1 << 40));
        assert!((0..100).all(|taken_file| one.of(taken_file) == again.of(taken_file)));
        assert!((0..100).any(|taken_file| one.of(taken_file) != other.of(taken_file)));
        assert!((0..100).all(|taken_file| Sizes::new(1, 1).of(taken_file) >= 1));
    }

    #[test]
    fn appends_have_their_mean() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let drawn: Vec<u64> = (0..100_000).map(|_| append_bytes(16_384, &mut random)).collect();
        let mean = drawn.iter().sum::<u64>() as f64 / drawn.len() as f64;
        assert!((mean / 16_384.0 - 1.0).abs() < 0.01, "{mean}");
        assert!(drawn.iter().all(|bytes| (1..2 * 16_384).contains(bytes)));
        assert_eq!(append_bytes(1, &mut random), 1);
    }
}
