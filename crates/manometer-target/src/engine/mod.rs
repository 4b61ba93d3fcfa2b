//! Key-value engines, one file each.
