//! Passes of a compaction: each handles the keys of some adjacent ranges, to limit the memory that it takes.

use std::ops::Range as Numbers;

/// Divides `ranges` ranges into passes of about `bytes_max` of the `input_bytes` each. At least one pass, even without
/// ranges.
pub(super) fn passes(ranges: usize, input_bytes: u64, bytes_max: u64) -> Vec<Numbers<usize>> {
    let count = input_bytes.div_ceil(bytes_max.max(1)) as usize;
    let count = count.clamp(1, ranges.max(1));
    (0..count).map(|pass| ranges * pass / count..ranges * (pass + 1) / count).collect()
}

/// The keys of a pass: from `low` up to, and excluding, `high`; `None` is unbounded.
#[derive(Debug, Clone, Copy)]
pub(super) struct PassKeys<'a> {
    pub low: Option<&'a [u8]>,
    pub high: Option<&'a [u8]>,
}

impl<'a> PassKeys<'a> {
    /// The keys of the ranges `numbers` and of the gaps before and between them; those of the last pass include the gap
    /// behind. `lows` are the lowest keys of all ranges.
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
    fn passes_cover_all_ranges_once() {
        assert_eq!(passes(0, 100, 10), vec![0..0; 1]);
        assert_eq!(passes(5, 100, 1000), vec![0..5; 1]);
        assert_eq!(passes(5, 100, 50), [0..2, 2..5]);
        assert_eq!(passes(2, 100, 10), [0..1, 1..2]);
    }

    #[test]
    fn every_key_belongs_to_one_pass() {
        let lows: [&[u8]; 4] = [b"b", b"d", b"f", b"h"];
        let passes = passes(4, 2, 1);
        for key in [b"a", b"b", b"c", b"e", b"f", b"z"] {
            assert_eq!(passes.iter().filter(|pass| PassKeys::of(&lows, pass).contains(key)).count(), 1);
        }
    }
}
