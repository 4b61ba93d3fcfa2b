//! Bounds of an iteration.

use std::ops::{Bound, RangeBounds};

/// Keys from `lower` up to, and excluding, `upper`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeyBounds {
    /// The lowest key; empty if unbounded.
    lower: Box<[u8]>,
    /// The first key past the end; `None` if unbounded.
    upper: Option<Box<[u8]>>,
}

impl KeyBounds {
    /// The bounds of a Rust range.
    pub fn new<'a>(range: impl RangeBounds<&'a [u8]>) -> Self {
        let lower = match range.start_bound() {
            Bound::Included(key) => Box::from(*key),
            Bound::Excluded(key) => just_after(key),
            Bound::Unbounded => Box::default(),
        };
        let upper = match range.end_bound() {
            Bound::Included(key) => Some(just_after(key)),
            Bound::Excluded(key) => Some(Box::from(*key)),
            Bound::Unbounded => None,
        };
        Self { lower, upper }
    }

    /// The bounds of all keys that begin with `prefix`.
    pub fn prefix(prefix: &[u8]) -> Self {
        let upper = prefix.iter().rposition(|&byte| byte < u8::MAX).map(|last| {
            let mut upper: Box<[u8]> = Box::from(&prefix[..=last]);
            upper[last] += 1;
            upper
        });
        Self { lower: Box::from(prefix), upper }
    }

    /// The lowest key within the bounds.
    pub fn lower(&self) -> &[u8] {
        &self.lower
    }

    /// The first key past the end; `None` if unbounded.
    pub fn upper(&self) -> Option<&[u8]> {
        self.upper.as_deref()
    }

    /// Whether `key` is at or past the end.
    pub fn is_past_end(&self, key: &[u8]) -> bool {
        self.upper().is_some_and(|upper| key >= upper)
    }

    /// Whether `key` is before the start.
    pub fn is_before_start(&self, key: &[u8]) -> bool {
        key < self.lower()
    }
}

/// The lowest key above `key`.
fn just_after(key: &[u8]) -> Box<[u8]> {
    [key, &[0]].concat().into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn contains(bounds: &KeyBounds, key: &[u8]) -> bool {
        !bounds.is_past_end(key) && !bounds.is_before_start(key)
    }

    fn key() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop::sample::select(vec![0_u8, 1, 254, 255]), 0..5)
    }

    proptest! {
        #[test]
        fn a_prefix_holds_what_begins_with_it(prefix in key(), key in key()) {
            prop_assert_eq!(contains(&KeyBounds::prefix(&prefix), &key), key.starts_with(&prefix));
        }

        #[test]
        fn a_range_holds_what_it_holds(low in key(), high in key(), ends in (0..3, 0..3), key in key()) {
            let bound = |end, key| match end {
                0 => Bound::Included(key),
                1 => Bound::Excluded(key),
                _ => Bound::Unbounded,
            };
            let range = (bound(ends.0, &low[..]), bound(ends.1, &high[..]));
            prop_assert_eq!(contains(&KeyBounds::new(range), &key), range.contains(&&key[..]));
        }
    }
}
