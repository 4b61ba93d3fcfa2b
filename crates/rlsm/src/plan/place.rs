//! Which range takes a key.

/// The lowest and the highest key of something, both within it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The lowest key.
    pub low: Box<[u8]>,
    /// The highest key.
    pub high: Box<[u8]>,
}

impl Span {
    /// Whether all of `other` lies within.
    pub fn encloses(&self, other: &Self) -> bool {
        self.low <= other.low && other.high <= self.high
    }

    /// Whether the two have a key in common, or could.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}

/// Where a key belongs among the ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the span of this range.
    Range(usize),
    /// In no range's span: before the range of this number and after the one before it.
    Gap(usize),
}

/// The place of `key` among `ranges`, which are disjoint and ordered by key.
pub fn place<T>(ranges: &[T], span: impl Fn(&T) -> &Span, key: &[u8]) -> Place {
    let after = ranges.partition_point(|range| &*span(range).low <= key);
    match after.checked_sub(1) {
        Some(before) if key <= &*span(&ranges[before]).high => Place::Range(before),
        _ => Place::Gap(after),
    }
}

/// What becomes of the keys that fall into one gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// They are few: this range's span is extended to take them.
    Extend(usize),
    /// They are enough for a range of their own.
    New,
}

/// Decides about `bytes` of keys that fall before range `gap`, where ranges hold `range_bytes` each (seed 002, section
/// 3.3.1, step 4). Of two neighbours the lighter one is extended. `few_bytes` and more make a range.
pub fn settle_gap(range_bytes: &[u64], gap: usize, bytes: u64, few_bytes: u64) -> Gap {
    if bytes >= few_bytes {
        return Gap::New;
    }
    let below = gap.checked_sub(1);
    let above = (gap < range_bytes.len()).then_some(gap);
    match (below, above) {
        (Some(below), Some(above)) if range_bytes[below] < range_bytes[above] => Gap::Extend(below),
        (_, Some(above)) => Gap::Extend(above),
        (Some(below), None) => Gap::Extend(below),
        (None, None) => Gap::New,
    }
}
