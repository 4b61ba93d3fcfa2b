//! A bijection of the numbers below n onto themselves, which maps ranks to records.
//!
//! Each round multiplies by an odd number and folds the upper half onto the lower; both are invertible below the next
//! power of two. A result beyond n goes through the rounds again.

/// A bijection of the numbers below some n.
#[derive(Debug, Clone, Copy)]
pub struct Permutation {
    count: u64,
    mask: u64,
    fold: u32,
    key: u64,
}

const FACTORS: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xBF58_476D_1CE4_E5B9];

impl Permutation {
    /// Of the numbers below `count`; each `seed` gives another.
    pub fn new(count: u64, seed: u64) -> Self {
        let mask = count.max(2).next_power_of_two() - 1;
        Self { count, mask, fold: mask.count_ones().div_ceil(2), key: seed.wrapping_mul(FACTORS[0]) ^ seed }
    }

    /// The image of `number`.
    #[inline]
    pub fn of(&self, number: u64) -> u64 {
        let mut at = number;
        loop {
            at = at.wrapping_add(self.key) & self.mask;
            for factor in FACTORS {
                at = at.wrapping_mul(factor) & self.mask;
                at ^= at >> self.fold;
            }
            if at < self.count {
                return at;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_twice(count in 1_u64..5000, seed in any::<u64>()) {
            let permutation = Permutation::new(count, seed);
            let mut hit: Vec<u64> = (0..count).map(|number| permutation.of(number)).collect();
            hit.sort_unstable();
            prop_assert!(hit.into_iter().eq(0..count));
        }
    }
}
