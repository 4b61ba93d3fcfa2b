//! Files that settings name.

/// Longer files that settings name are data, and are not read whole.
pub(crate) const LONGEST_FILE_BYTES: u64 = 16 << 20;
