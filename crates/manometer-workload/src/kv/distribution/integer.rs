//! Integers between two bounds, for lengths: uniform, or by Zipf.

use super::{EXPONENT, Random, Uniform, ZipfDistribution, harmonic};

/// A distribution of integers between two bounds, both included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum IntegerDistribution {
    /// Uniform.
    Uniform {
        /// The least.
        min: u64,
        /// The distribution of the difference from it.
        above: Uniform,
    },
    /// Exact Zipf, the least most often.
    Zipfian {
        /// The least.
        min: u64,
        /// The distribution of the difference from it.
        above: ZipfDistribution,
    },
}

impl IntegerDistribution {
    /// Uniform from `min` to `max`.
    pub fn uniform(min: u64, max: u64) -> Self {
        Self::Uniform { min, above: Uniform::new(max - min + 1) }
    }

    /// From `min` to `max`, exact Zipf of YCSB's exponent with `min` the most frequent.
    pub fn zipfian(min: u64, max: u64) -> Self {
        Self::Zipfian { min, above: ZipfDistribution::new(max - min + 1, EXPONENT) }
    }

    /// The next number.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        match self {
            Self::Uniform { min, above } => min + above.draw(random),
            Self::Zipfian { min, above } => min + above.draw(random),
        }
    }

    /// The least and the largest.
    pub fn bounds(&self) -> (u64, u64) {
        let (min, count) = match self {
            Self::Uniform { min, above } => (*min, above.count()),
            Self::Zipfian { min, above } => (*min, above.count()),
        };
        (min, min + count - 1)
    }

    /// The average.
    pub fn mean(&self) -> f64 {
        let (min, max) = self.bounds();
        match self {
            Self::Uniform { .. } => f64::midpoint(min as f64, max as f64),
            Self::Zipfian { above, .. } => {
                let count = above.count();
                min as f64 - 1.0 + harmonic(count, EXPONENT - 1.0) / harmonic(count, EXPONENT)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::distribution::stream;

    #[test]
    fn numbers_lie_between_their_bounds_and_have_their_mean() {
        for between in [
            IntegerDistribution::uniform(3, 100),
            IntegerDistribution::zipfian(3, 100),
            IntegerDistribution::uniform(7, 7),
        ] {
            let mut random = stream(1, 0);
            let numbers: Vec<u64> = (0..100_000).map(|_| between.draw(&mut random)).collect();
            let (min, max) = between.bounds();
            assert_eq!((numbers.iter().min(), numbers.iter().max()), (Some(&min), Some(&max)));
            let mean = numbers.iter().sum::<u64>() as f64 / numbers.len() as f64;
            // Six standard errors of a spread of at most fifty.
            assert!((mean - between.mean()).abs() < 1.0, "{mean}, not {}", between.mean());
        }
    }
}
