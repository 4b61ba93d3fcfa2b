//! The hash that orders data on disk. It is part of the file format.

use xxhash_rust::xxh3::xxh3_64;

/// XXH3-64 of `key`, with seed 0.
pub(crate) fn hash(key: &[u8]) -> u64 {
    xxh3_64(key)
}
