//! Which range takes a key.

/// A closed interval of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySpan {
    /// The lowest key.
    pub low: Box<[u8]>,
    /// The highest key.
    pub high: Box<[u8]>,
}

impl KeySpan {
    /// Whether all of `other` lies in this span.
    pub fn contains(&self, other: &Self) -> bool {
        self.low <= other.low && other.high <= self.high
    }

    /// Whether the two spans intersect.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}

/// Where a key belongs among the ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPlacement {
    /// In the span of the range with this index.
    Range(usize),
    /// In no range's span: before the range with this index and after the one before it.
    Gap(usize),
}

/// Places `key` among `ranges`, which are disjoint and ordered by key.
pub fn place_key<T>(ranges: &[T], span: impl Fn(&T) -> &KeySpan, key: &[u8]) -> KeyPlacement {
    let after = ranges.partition_point(|range| &*span(range).low <= key);
    match after.checked_sub(1) {
        Some(before) if key <= &*span(&ranges[before]).high => KeyPlacement::Range(before),
        _ => KeyPlacement::Gap(after),
    }
}

/// What to do with the keys that fall into a gap between ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GapAction {
    /// They are few: extend the span of this range.
    Extend(usize),
    /// They are enough: create a range.
    New,
}

/// Decides about `bytes` of keys that fall before range `gap`, where ranges hold `range_bytes` each (Song 2018, section
/// 3.3.1, step 4). At least `new_range_bytes_min` make a new range; less extends the lighter neighbour.
pub fn plan_gap(range_bytes: &[u64], gap: usize, bytes: u64, new_range_bytes_min: u64) -> GapAction {
    if bytes >= new_range_bytes_min {
        return GapAction::New;
    }
    let below = gap.checked_sub(1);
    let above = (gap < range_bytes.len()).then_some(gap);
    match (below, above) {
        (Some(below), Some(above)) if range_bytes[below] < range_bytes[above] => GapAction::Extend(below),
        (_, Some(above)) => GapAction::Extend(above),
        (Some(below), None) => GapAction::Extend(below),
        (None, None) => GapAction::New,
    }
}
