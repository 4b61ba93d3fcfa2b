//! Files that settings name.

/// A file that settings name and that is longer holds data, and is not read as a whole.
pub(crate) const LONGEST_FILE_BYTES: u64 = 16 << 20;
