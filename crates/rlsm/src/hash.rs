//! The hash that orders data on disk. It is part of the format: it may never change.

use xxhash_rust::xxh3::xxh3_64;

/// XXH3's 64 bits of `key`, with no seed.
pub(crate) fn hash(key: &[u8]) -> u64 {
    xxh3_64(key)
}
