//! Large tables with random access, in huge pages if available: with small pages every other access also walks the page
//! tables, and every 4 KiB costs a page fault.

use std::ffi::c_void;
use std::mem::size_of;

use rustix::mm::{Advice, madvise};

/// The size in bytes below which huge pages gain nothing.
const LARGE_BYTES: usize = 2 << 20;
/// The alignment of advised ranges in bytes, a multiple of every page size in use.
const ALIGNMENT_BYTES: usize = 64 << 10;

/// A table of `len` equal values.
pub(crate) fn filled_table<T: Copy>(value: T, len: usize) -> Vec<T> {
    let mut table: Vec<T> = Vec::with_capacity(len);
    let bytes = len * size_of::<T>();
    let begin = table.as_mut_ptr().cast::<u8>();
    let unaligned = begin.align_offset(ALIGNMENT_BYTES);
    if bytes >= LARGE_BYTES + ALIGNMENT_BYTES {
        // SAFETY: the range lies within the table's own memory, and the advice changes neither content nor access.
        // Without huge pages the call fails, which is harmless.
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
