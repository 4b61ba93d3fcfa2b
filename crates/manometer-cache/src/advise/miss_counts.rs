//! The misses of a cache, by block of time and by group of keys.

use rapidhash::v3::rapidhash_v3;

use crate::key_id::KeyId;

/// The equal parts of the trace, in requests, in which misses are counted.
pub(super) const TIME_BINS: usize = 256;
/// The random groups of keys in which misses are counted.
pub(super) const KEY_GROUPS: usize = 16;

/// The misses of a cache on some requests.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MissCounts {
    pub(super) by_time: [u64; TIME_BINS],
    pub(super) by_keys: [u64; KEY_GROUPS],
    /// The missed objects, in units of capacity.
    pub(super) weight: u64,
}

impl MissCounts {
    pub(super) const NONE: Self = Self { by_time: [0; TIME_BINS], by_keys: [0; KEY_GROUPS], weight: 0 };

    /// Counts a miss at a `place` of the trace, 0 to 1, for a key of a group.
    pub(super) fn add(&mut self, place: f64, group: u8, weight: u64) {
        self.by_time[((place * TIME_BINS as f64) as usize).min(TIME_BINS - 1)] += 1;
        self.by_keys[usize::from(group) % KEY_GROUPS] += 1;
        self.weight = self.weight.saturating_add(weight);
    }

    /// The number of misses.
    pub(super) fn total(&self) -> u64 {
        self.by_time.iter().sum()
    }
}

/// The group of each key. Groups are random: a key's number follows its first request, so that numbers in turn would put
/// neighbours of a scan into all groups alike, and understate how much groups differ.
pub(super) fn key_groups(keys: usize) -> Vec<u8> {
    (0..keys as KeyId).map(|id| (rapidhash_v3(&id.to_le_bytes()) % KEY_GROUPS as u64) as u8).collect()
}
