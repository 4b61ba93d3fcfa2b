//! The classes of memcached's slabs, and values that fill chunks of them.

use super::recorded::Key;

/// The first class, and what its and all others' sizes are multiples of.
const CHUNK_MIN: u64 = 96;
const ALIGN: u64 = 8;
/// What an item takes beside its key and its value, and some room: a value that leaves it free fills its chunk and
/// no smaller one.
const ITEM_BYTES: u64 = 64;
/// The shortest value.
const VALUE_MIN: u64 = 16;

/// The sizes of the chunks of all classes from `least` to `most` bytes, as memcached makes them unless told otherwise:
/// each a quarter larger than the one before.
pub(super) fn chunks(least: u64, most: u64) -> Vec<u64> {
    let next = |chunk: &u64| Some((chunk * 5 / 4).next_multiple_of(ALIGN));
    let all = std::iter::successors(Some(CHUNK_MIN), next).take_while(|chunk| *chunk <= most);
    all.filter(|chunk| *chunk >= least).collect()
}

/// Values that spread `keys` evenly over the classes of slabs up to `chunk_max`.
#[derive(Debug, PartialEq)]
pub(super) struct Spread {
    chunks: Vec<u64>,
    /// The mean value, over all keys.
    pub(super) value_bytes_mean: u64,
}

impl Spread {
    /// Nothing where even the longest chunk has no room for a value behind the longest key.
    pub(super) fn over(keys: &[Key], chunk_max: u64) -> Option<Self> {
        let longest = keys.iter().map(|key| u64::from(key.key_bytes)).max()?;
        let chunks = chunks(longest + ITEM_BYTES + VALUE_MIN, chunk_max);
        if chunks.is_empty() {
            return None;
        }
        let mut spread = Self { chunks, value_bytes_mean: 0 };
        let sum: u64 = keys.iter().enumerate().map(|(place, key)| spread.value_bytes(place, key)).sum();
        spread.value_bytes_mean = (sum as f64 / keys.len() as f64).round() as u64;
        Some(spread)
    }

    /// How many classes there are.
    pub(super) fn classes(&self) -> u32 {
        self.chunks.len() as u32
    }

    /// The value of the key at `place`.
    pub(super) fn value_bytes(&self, place: usize, key: &Key) -> u64 {
        self.chunks[place % self.chunks.len()] - ITEM_BYTES - u64::from(key.key_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_that_memcached_tells() {
        // As `memcached -vv` of 1.6 tells them.
        let told = [96, 120, 152, 192, 240, 304, 384, 480, 600, 752, 944, 1184, 1480, 1856, 2320, 2904, 3632, 4544];
        assert_eq!(chunks(0, 4600), told);
        assert_eq!(chunks(500, 1000), [600, 752, 944]);
    }

    #[test]
    fn values_are_spread_evenly_and_fill_their_chunks() {
        let key = |id| Key { id, key_bytes: 30, value_bytes: 0 };
        let keys: Vec<Key> = (0..700).map(key).collect();
        let spread = Spread::over(&keys, 480).unwrap();
        assert_eq!((spread.classes(), spread.chunks[0]), (7, 120));
        let all = chunks(0, 480);
        let class = |place: usize| {
            let item = 48 + 8 + 1 + 30 + 2 + spread.value_bytes(place, &keys[place]);
            all.iter().position(|chunk| item <= *chunk).unwrap()
        };
        for (wanted, chunk) in spread.chunks.iter().enumerate() {
            let there = (0..700).filter(|place| all[class(*place)] == *chunk).count();
            assert_eq!(there, 100, "class {wanted} of {chunk} B");
        }
        let mean = (0..700).map(|place| spread.value_bytes(place, &keys[place])).sum::<u64>() / 700;
        assert!(spread.value_bytes_mean.abs_diff(mean) <= 1);
        assert_eq!(Spread::over(&keys, 100), None);
    }
}
