//! Files that settings name.

/// Longer files that settings name are data, and are not read whole.
pub(crate) const LONGEST_FILE_BYTES: u64 = 16 << 20;

/// Longer files are not read at all: tables of rates of many days are shorter.
pub(crate) const MOST_FILE_BYTES: u64 = 1 << 30;
