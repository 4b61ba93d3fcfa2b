//! A set of disjoint address ranges; adjacent ranges are merged.

use std::collections::BTreeMap;

/// Disjoint, non-adjacent ranges in address order.
#[derive(Debug, Default)]
pub struct Extents {
    ends: BTreeMap<u64, u64>,
    bytes: u64,
}

impl Extents {
    /// The number of bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a range, merged with adjacent ones.
    pub fn insert(&mut self, mut start: u64, mut end: u64) {
        while let Some((other, other_end)) = self.ends.range(..=end).next_back().map(|(start, end)| (*start, *end)) {
            if other_end < start {
                break;
            }
            self.ends.remove(&other);
            self.bytes -= other_end - other;
            start = start.min(other);
            end = end.max(other_end);
        }
        self.ends.insert(start, end);
        self.bytes += end - start;
    }

    /// Removes up to `most` bytes from the start of the range that begins at `start`. Returns where they end.
    pub fn take(&mut self, start: u64, most: u64) -> Option<u64> {
        let end = self.ends.remove(&start)?;
        let cut = end.min(start.saturating_add(most));
        if cut < end {
            self.ends.insert(cut, end);
        }
        self.bytes -= cut - start;
        Some(cut)
    }

    /// Whether all bytes from `start` to `end` are in one range.
    pub fn has(&self, start: u64, end: u64) -> bool {
        self.ends.range(..=start).next_back().is_some_and(|(_, other)| *other >= end)
    }

    /// The start of the next range from `at` on, wrapping around.
    pub fn next_from(&self, at: u64) -> Option<u64> {
        self.ends.range(at..).next().or_else(|| self.ends.first_key_value()).map(|(start, _)| *start)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn stretches_hold_what_was_put_in(
            steps in prop::collection::vec((any::<bool>(), 0_u64..60, 1_u64..12), 1..40)
        ) {
            let (mut extents, mut plain) = (Extents::default(), BTreeSet::new());
            for (puts, at, len) in steps {
                if puts {
                    extents.insert(at, at + len);
                    plain.extend(at..at + len);
                } else if let Some(start) = extents.next_from(at) {
                    let end = extents.take(start, len).unwrap();
                    prop_assert!(end > start && end - start <= len);
                    prop_assert!((start..end).all(|byte| plain.remove(&byte)));
                }
                prop_assert_eq!(extents.bytes(), plain.len() as u64);
                prop_assert_eq!(extents.has(at, at + len), (at..at + len).all(|byte| plain.contains(&byte)));
            }
        }
    }
}
