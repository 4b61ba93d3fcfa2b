//! Garbage collection of versions: which of them a rewrite retains.

use crate::entry::Entry;
use crate::{EntryKind, RangeTombstone, SequenceNumber};

/// Decides for each version of a key whether to retain it. Versions of one key come together, the newest first.
pub(crate) struct RetentionFilter<'a> {
    /// Every present and future snapshot sees this write.
    oldest_snapshot: SequenceNumber,
    range_tombstones: &'a [RangeTombstone],
    /// Whether no older data lies below, so that tombstones can be dropped.
    is_bottom_level: bool,
    key: Vec<u8>,
    /// The last version of `key` that was seen; `None` before the first key.
    last: Option<SequenceNumber>,
    /// Whether a newer version supersedes all further versions of `key` for every snapshot.
    is_superseded: bool,
}

impl<'a> RetentionFilter<'a> {
    pub fn new(oldest_snapshot: SequenceNumber, range_tombstones: &'a [RangeTombstone], is_bottom_level: bool) -> Self {
        Self { oldest_snapshot, range_tombstones, is_bottom_level, key: Vec::new(), last: None, is_superseded: false }
    }

    /// Whether `entry` must be retained.
    pub fn retains(&mut self, entry: &Entry<'_>) -> bool {
        if self.last.is_none() || self.key != entry.key {
            self.key.clear();
            self.key.extend_from_slice(entry.key);
            self.is_superseded = false;
        } else if self.is_superseded || self.last == Some(entry.sequence) {
            return false;
        }
        self.last = Some(entry.sequence);
        if entry.sequence > self.oldest_snapshot {
            return true;
        }
        self.is_superseded = true;
        let is_deleted = |delete: &RangeTombstone| {
            entry.sequence < delete.sequence
                && delete.sequence <= self.oldest_snapshot
                && *delete.low <= *entry.key
                && *entry.key < *delete.high
        };
        let is_droppable = self.is_bottom_level && entry.kind == EntryKind::Delete;
        !is_droppable && !self.range_tombstones.iter().any(is_deleted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retained_sequences(
        oldest: SequenceNumber,
        deletes: &[RangeTombstone],
        is_bottom_level: bool,
        versions: &[(&'static str, SequenceNumber, EntryKind)],
    ) -> Vec<SequenceNumber> {
        let mut retention = RetentionFilter::new(oldest, deletes, is_bottom_level);
        let entry = |key: &'static str, sequence, kind| Entry { key: key.as_bytes(), sequence, kind, value: b"" };
        let retained = versions.iter().filter(|(key, sequence, kind)| retention.retains(&entry(key, *sequence, *kind)));
        retained.map(|(_, sequence, _)| *sequence).collect()
    }

    use EntryKind::{Delete, Put};

    #[test]
    fn versions_below_the_newest_that_all_snapshots_see_are_dropped() {
        let versions = [("a", 9, Put), ("a", 7, Put), ("a", 5, Put), ("a", 3, Put), ("b", 4, Put)];
        assert_eq!(retained_sequences(6, &[], false, &versions), [9, 7, 5, 4]);
        assert_eq!(retained_sequences(9, &[], false, &versions), [9, 4]);
        assert_eq!(retained_sequences(0, &[], false, &versions), [9, 7, 5, 3, 4]);
    }

    #[test]
    fn tombstones_are_dropped_at_the_bottom_level_only() {
        let versions = [("a", 9, Delete), ("a", 7, Put), ("", 1, Put)];
        assert_eq!(retained_sequences(9, &[], false, &versions), [9, 1]);
        assert_eq!(retained_sequences(9, &[], true, &versions), [1]);
        assert_eq!(retained_sequences(8, &[], true, &versions), [9, 7, 1]);
    }

    #[test]
    fn a_duplicate_version_is_retained_once() {
        assert_eq!(retained_sequences(0, &[], false, &[("a", 9, Put), ("a", 9, Put), ("b", 9, Put)]), [9, 9]);
    }

    #[test]
    fn range_tombstones_drop_older_versions() {
        let delete = RangeTombstone { low: (*b"a").into(), high: (*b"c").into(), sequence: 5 };
        let versions = [("a", 6, Put), ("a", 4, Put), ("b", 4, Put), ("c", 4, Put)];
        assert_eq!(retained_sequences(9, std::slice::from_ref(&delete), false, &versions), [6, 4]);
        assert_eq!(retained_sequences(5, std::slice::from_ref(&delete), false, &versions), [6, 4]);
        assert_eq!(retained_sequences(4, std::slice::from_ref(&delete), false, &versions), [6, 4, 4, 4]);
    }
}
