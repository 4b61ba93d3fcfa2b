//! The bins of an HdrHistogram with three significant digits: one per value below 2048, and 1024 per power of two
//! above.

/// Three decimal digits need 1024 bins, the upper half of 2048, per power of two.
const HALF_BITS: u32 = 10;
const HALF: u64 = 1 << HALF_BITS;

/// The bin that counts `value`.
#[inline]
pub const fn bin_of(value: u64) -> usize {
    (((width_log2(value) as u64) << HALF_BITS) + (value >> width_log2(value))) as usize
}

/// The bin whose lowest value is nearest to `value`.
#[inline]
pub const fn nearest_bin(value: u64) -> usize {
    bin_of(value.saturating_add((1 << width_log2(value)) >> 1))
}

/// The lowest value of a bin.
pub const fn lowest_value_of(bin: usize) -> u64 {
    let bin = bin as u64;
    if bin < 2 * HALF {
        return bin;
    }
    let width_log2 = (bin >> HALF_BITS) - 1;
    (bin - (width_log2 << HALF_BITS)) << width_log2
}

/// The binary logarithm of the width of the bins around `value`.
#[inline]
const fn width_log2(value: u64) -> u32 {
    (u64::BITS - HALF_BITS - 1) - (value | (2 * HALF - 1)).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bin_contains_its_lowest_value() {
        for bin in 0..50 * HALF as usize {
            assert_eq!(bin_of(lowest_value_of(bin)), bin);
            assert_eq!(nearest_bin(lowest_value_of(bin)), bin);
        }
    }

    #[test]
    fn values_around_a_round_number_share_its_bin() {
        for near in [9_997, 9_999, 10_000, 10_003] {
            assert_eq!(lowest_value_of(nearest_bin(near)), 10_000, "{near}");
        }
        assert_eq!(lowest_value_of(nearest_bin(4_095)), 4_096, "bins are wider above a power of two");
    }
}
