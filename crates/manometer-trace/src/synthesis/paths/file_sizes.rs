//! The sizes of generated files.

use rand_distr::{Distribution as _, Gamma};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

/// The shape of Filebench's gamma distribution of sizes. Four of five files are then smaller than 1.6 times the mean.
const SHAPE: f64 = 1.5;

/// The size of each file; the same seed gives the same sizes.
#[derive(Debug, Clone)]
pub struct FileSizes {
    gamma: Option<Gamma<f64>>,
    seed: u64,
}

impl FileSizes {
    /// Sizes of `mean_bytes` on average; of 0, all files are empty.
    pub fn new(mean_bytes: u64, seed: u64) -> Self {
        // The distribution takes any scale above 0.
        Self { gamma: Gamma::new(SHAPE, mean_bytes as f64 / SHAPE).ok(), seed }
    }

    /// Bytes of the file `file`; at least one unless all are empty.
    pub fn of(&self, file: u64) -> u64 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed.wrapping_add(file));
        self.gamma.map_or(0, |gamma| (gamma.sample(&mut random).round() as u64).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_gamma_of_shape_one_and_a_half() {
        let mean_bytes = 131_072;
        let sizes = FileSizes::new(mean_bytes, 7);
        let mut drawn: Vec<u64> = (0..100_000).map(|file| sizes.of(file)).collect();
        let mean = drawn.iter().sum::<u64>() as f64 / drawn.len() as f64;
        // The mean of so many scatters by 0.26 %.
        assert!((mean / mean_bytes as f64 - 1.0).abs() < 0.01, "{mean}");
        drawn.sort_unstable();
        // P(3/2, x) = erf(sqrt x) - 2 sqrt(x / pi) exp(-x), the regularised incomplete gamma function, at x = 1/2, 1, 2, 4.
        let exact = [(0.5, 0.198_748), (1.0, 0.427_593), (2.0, 0.738_536), (4.0, 0.953_988)];
        for (x, share) in exact {
            let below = drawn.partition_point(|size| (*size as f64) < x * mean_bytes as f64 / SHAPE) as f64 / 100_000.0;
            // Kolmogorov and Smirnov's distance stays below 1.95 / sqrt(n) in 999 of 1000.
            assert!((below - share).abs() < 1.95 / 100_000_f64.sqrt(), "{x}: {below}");
        }
    }

    #[test]
    fn a_file_keeps_its_size_and_another_seed_has_others() {
        let (one, again, other) = (FileSizes::new(1000, 1), FileSizes::new(1000, 1), FileSizes::new(1000, 1 << 40));
        assert!((0..100).all(|file| one.of(file) == again.of(file)));
        assert!((0..100).any(|file| one.of(file) != other.of(file)));
        assert!((0..100).all(|file| FileSizes::new(1, 1).of(file) >= 1));
        assert!((0..100).all(|file| FileSizes::new(0, 1).of(file) == 0));
    }
}
