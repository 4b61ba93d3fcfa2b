//! Tables that are large and read at random, in large pages where the system has them: in small ones every other look
//! into one costs a walk through the page tables beside it, and every 4 KiB of it a page fault.

use std::ffi::c_void;
use std::mem::size_of;

use rustix::mm::{Advice, madvise};

/// A smaller table gains nothing.
const LARGE_BYTES: usize = 2 << 20;
/// Where advice may begin: at multiples of this, which every size of page divides.
const ALIGNMENT_BYTES: usize = 64 << 10;

/// A table of so many equal values.
pub(crate) fn filled_table<T: Copy>(value: T, len: usize) -> Vec<T> {
    let mut table: Vec<T> = Vec::with_capacity(len);
    let bytes = len * size_of::<T>();
    let begin = table.as_mut_ptr().cast::<u8>();
    let unaligned = begin.align_offset(ALIGNMENT_BYTES);
    if bytes >= LARGE_BYTES + ALIGNMENT_BYTES {
        // SAFETY: the range lies within the table's own memory, and advice changes neither it nor who may use it. A
        // system that refuses has no large pages: the table is as good without.
        let _ = unsafe { madvise(begin.add(unaligned).cast::<c_void>(), bytes - unaligned, Advice::LinuxHugepage) };
    }
    table.resize(len, value);
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_all_sizes_hold_what_they_are_filled_with() {
        for len in [0, 1, 1000, LARGE_BYTES / 8, LARGE_BYTES] {
            assert!(filled_table(7_u64, len) == vec![7; len], "{len}");
        }
        assert_eq!(filled_table((), 3).len(), 3);
    }
}
