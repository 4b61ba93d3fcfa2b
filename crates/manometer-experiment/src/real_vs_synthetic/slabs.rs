//! The slab classes of memcached, and values that fill their chunks.

use super::recorded_trace::Key;

/// The size of the first class, and the alignment of all sizes.
const CHUNK_MIN: u64 = 96;
const ALIGN: u64 = 8;
/// The overhead of an item besides its key and its value, with a reserve: a value that leaves this space free fits its
/// chunk and no smaller one.
const ITEM_BYTES: u64 = 64;
/// The shortest value.
const VALUE_MIN: u64 = 16;

/// The chunk sizes of all classes from `min` to `max` bytes, with memcached's default growth factor of 1.25.
pub(super) fn chunk_sizes(min: u64, max: u64) -> Vec<u64> {
    let next = |chunk: &u64| Some((chunk * 5 / 4).next_multiple_of(ALIGN));
    let all = std::iter::successors(Some(CHUNK_MIN), next).take_while(|chunk| *chunk <= max);
    all.filter(|chunk| *chunk >= min).collect()
}

/// Value sizes that spread keys evenly over slab classes.
#[derive(Debug, PartialEq)]
pub(super) struct SlabSpread {
    chunks: Vec<u64>,
    /// The mean value size over all keys.
    pub(super) value_bytes_mean: u64,
}

impl SlabSpread {
    /// Spreads `keys` over the classes up to `chunk_max`; nothing where the largest chunk has no space for a value
    /// besides the longest key.
    pub(super) fn new(keys: &[Key], chunk_max: u64) -> Option<Self> {
        let longest = keys.iter().map(|key| u64::from(key.key_bytes)).max()?;
        let chunks = chunk_sizes(longest + ITEM_BYTES + VALUE_MIN, chunk_max);
        if chunks.is_empty() {
            return None;
        }
        let mut spread = Self { chunks, value_bytes_mean: 0 };
        let sum: u64 = keys.iter().enumerate().map(|(place, key)| spread.value_bytes(place, key)).sum();
        spread.value_bytes_mean = (sum as f64 / keys.len() as f64).round() as u64;
        Some(spread)
    }

    /// The number of classes.
    pub(super) fn classes(&self) -> u32 {
        self.chunks.len() as u32
    }

    /// The value size of the key at `place`.
    pub(super) fn value_bytes(&self, place: usize, key: &Key) -> u64 {
        self.chunks[place % self.chunks.len()] - ITEM_BYTES - u64::from(key.key_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_sizes_are_those_of_memcached() {
        // As printed by `memcached -vv` 1.6.
        let printed = [96, 120, 152, 192, 240, 304, 384, 480, 600, 752, 944, 1184, 1480, 1856, 2320, 2904, 3632, 4544];
        assert_eq!(chunk_sizes(0, 4600), printed);
        assert_eq!(chunk_sizes(500, 1000), [600, 752, 944]);
    }

    #[test]
    fn values_are_spread_evenly_over_their_chunks() {
        let key = |id| Key { id, key_bytes: 30, value_bytes: 0 };
        let keys: Vec<Key> = (0..700).map(key).collect();
        let spread = SlabSpread::new(&keys, 480).unwrap();
        assert_eq!((spread.classes(), spread.chunks[0]), (7, 120));
        let all = chunk_sizes(0, 480);
        let class = |place: usize| {
            let item = 48 + 8 + 1 + 30 + 2 + spread.value_bytes(place, &keys[place]);
            all.iter().position(|chunk| item <= *chunk).unwrap()
        };
        for (number, chunk) in spread.chunks.iter().enumerate() {
            let count = (0..700).filter(|place| all[class(*place)] == *chunk).count();
            assert_eq!(count, 100, "class {number} of {chunk} B");
        }
        let mean = (0..700).map(|place| spread.value_bytes(place, &keys[place])).sum::<u64>() / 700;
        assert!(spread.value_bytes_mean.abs_diff(mean) <= 1);
        assert_eq!(SlabSpread::new(&keys, 100), None);
    }
}
