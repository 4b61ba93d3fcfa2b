//! The cells of an HdrHistogram of three digits: exact below 2048, and 1024 cells for each power of two from there.

/// Cells of each power of two: three decimal digits need 1024 halves of 2048.
const HALF_BITS: u32 = 10;
const HALF: u64 = 1 << HALF_BITS;

/// The cell that `value` is counted in.
#[inline]
pub const fn cell_of(value: u64) -> usize {
    (((bucket_of(value) as u64) << HALF_BITS) + (value >> bucket_of(value))) as usize
}

/// The cell whose lowest value is nearest to `value`.
#[inline]
pub const fn nearest_cell(value: u64) -> usize {
    cell_of(value.saturating_add((1 << bucket_of(value)) >> 1))
}

/// The lowest value of a cell.
pub const fn value_of(cell: usize) -> u64 {
    let cell = cell as u64;
    if cell < 2 * HALF {
        return cell;
    }
    let bucket = (cell >> HALF_BITS) - 1;
    (cell - (bucket << HALF_BITS)) << bucket
}

/// The power of two that the cells around `value` are wide.
#[inline]
const fn bucket_of(value: u64) -> u32 {
    (u64::BITS - HALF_BITS - 1) - (value | (2 * HALF - 1)).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_follow_one_another_without_gaps() {
        for cell in 0..50 * HALF as usize {
            assert_eq!(cell_of(value_of(cell)), cell);
            assert_eq!(nearest_cell(value_of(cell)), cell);
        }
    }

    #[test]
    fn values_around_a_round_number_share_its_cell() {
        for near in [9_997, 9_999, 10_000, 10_003] {
            assert_eq!(value_of(nearest_cell(near)), 10_000, "{near}");
        }
        assert_eq!(value_of(nearest_cell(4_095)), 4_096, "beyond a power of two cells are wider");
    }
}
