//! A compaction in several passes: the keys of some neighbouring ranges at a time, so that memory is bounded.

use std::ops::Range as Numbers;

/// Divides `ranges` ranges so that each part takes about `bytes_max` of `victim_bytes`; at least one part, even without
/// a range.
pub(super) fn slices(ranges: usize, victim_bytes: u64, bytes_max: u64) -> Vec<Numbers<usize>> {
    let wanted = victim_bytes.div_ceil(bytes_max.max(1)) as usize;
    let count = wanted.clamp(1, ranges.max(1));
    (0..count).map(|slice| ranges * slice / count..ranges * (slice + 1) / count).collect()
}

/// The keys that belong to a slice: from `low`, if there is one, up to but without `high`, if there is one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys<'a> {
    pub low: Option<&'a [u8]>,
    pub high: Option<&'a [u8]>,
}

impl<'a> Keys<'a> {
    /// The keys of the ranges `numbers` and of the gaps before and between them; the last slice has the gap behind, too.
    /// `lows` are the lowest keys of all ranges.
    pub fn of(lows: &'a [&'a [u8]], numbers: &Numbers<usize>) -> Self {
        let low = if numbers.start == 0 { None } else { lows.get(numbers.start).copied() };
        Self { low, high: lows.get(numbers.end).copied() }
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        self.low.is_none_or(|low| low <= key) && self.high.is_none_or(|high| key < high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_cover_all_ranges_once() {
        assert_eq!(slices(0, 100, 10), vec![0..0; 1]);
        assert_eq!(slices(5, 100, 1000), vec![0..5; 1]);
        assert_eq!(slices(5, 100, 50), [0..2, 2..5]);
        assert_eq!(slices(2, 100, 10), [0..1, 1..2]);
    }

    #[test]
    fn every_key_belongs_to_one_slice() {
        let lows: [&[u8]; 4] = [b"b", b"d", b"f", b"h"];
        let slices = slices(4, 2, 1);
        for key in [b"a", b"b", b"c", b"e", b"f", b"z"] {
            assert_eq!(slices.iter().filter(|slice| Keys::of(&lows, slice).contains(key)).count(), 1);
        }
    }
}
