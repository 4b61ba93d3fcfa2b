//! The size of an append.

use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Bytes of an append, uniform with the mean `mean_bytes`.
pub(super) fn append_bytes(mean_bytes: u64, random: &mut Xoshiro256PlusPlus) -> u64 {
    random.random_range(1..=(2 * mean_bytes).saturating_sub(1).max(1))
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng as _;

    use super::*;

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
