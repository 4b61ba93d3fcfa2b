//! Which versions are still needed when data is written anew.

use crate::entry::Entry;
use crate::{Kind, RangeDelete, Sequence};

/// Goes through the versions of keys, those of one key together and the newest first, and tells which to keep.
pub(crate) struct Keep<'a> {
    /// Every snapshot there is or will be sees this write.
    oldest_snapshot: Sequence,
    range_deletes: &'a [RangeDelete],
    /// Whether nothing older lies below, so that deletes need not be kept.
    bottom: bool,
    key: Vec<u8>,
    /// The version of `key` seen last; `None` before the first key.
    last: Option<Sequence>,
    /// Whether all older versions of `key` are superseded for every snapshot.
    settled: bool,
}

impl<'a> Keep<'a> {
    pub fn new(oldest_snapshot: Sequence, range_deletes: &'a [RangeDelete], bottom: bool) -> Self {
        Self { oldest_snapshot, range_deletes, bottom, key: Vec::new(), last: None, settled: false }
    }

    /// Whether `entry` is needed.
    pub fn needs(&mut self, entry: &Entry<'_>) -> bool {
        if self.last.is_none() || self.key != entry.key {
            self.key.clear();
            self.key.extend_from_slice(entry.key);
            self.settled = false;
        } else if self.settled || self.last == Some(entry.sequence) {
            return false;
        }
        self.last = Some(entry.sequence);
        if entry.sequence > self.oldest_snapshot {
            return true;
        }
        self.settled = true;
        let gone = |delete: &RangeDelete| {
            entry.sequence < delete.sequence
                && delete.sequence <= self.oldest_snapshot
                && *delete.low <= *entry.key
                && *entry.key < *delete.high
        };
        let is_done = self.bottom && entry.kind == Kind::Delete;
        !is_done && !self.range_deletes.iter().any(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(
        oldest: Sequence,
        deletes: &[RangeDelete],
        bottom: bool,
        versions: &[(&'static str, Sequence, Kind)],
    ) -> Vec<Sequence> {
        let mut keep = Keep::new(oldest, deletes, bottom);
        let entry = |key: &'static str, sequence, kind| Entry { key: key.as_bytes(), sequence, kind, value: b"" };
        let needed = versions.iter().filter(|(key, sequence, kind)| keep.needs(&entry(key, *sequence, *kind)));
        needed.map(|(_, sequence, _)| *sequence).collect()
    }

    use Kind::{Delete, Put};

    #[test]
    fn the_newest_version_that_all_snapshots_see_ends_a_key() {
        let versions = [("a", 9, Put), ("a", 7, Put), ("a", 5, Put), ("a", 3, Put), ("b", 4, Put)];
        assert_eq!(kept(6, &[], false, &versions), [9, 7, 5, 4]);
        assert_eq!(kept(9, &[], false, &versions), [9, 4]);
        assert_eq!(kept(0, &[], false, &versions), [9, 7, 5, 3, 4]);
    }

    #[test]
    fn deletes_end_at_the_bottom_only() {
        let versions = [("a", 9, Delete), ("a", 7, Put), ("", 1, Put)];
        assert_eq!(kept(9, &[], false, &versions), [9, 1]);
        assert_eq!(kept(9, &[], true, &versions), [1]);
        assert_eq!(kept(8, &[], true, &versions), [9, 7, 1]);
    }

    #[test]
    fn a_version_found_twice_is_kept_once() {
        assert_eq!(kept(0, &[], false, &[("a", 9, Put), ("a", 9, Put), ("b", 9, Put)]), [9, 9]);
    }

    #[test]
    fn range_deletes_hide_what_is_older() {
        let delete = RangeDelete { low: (*b"a").into(), high: (*b"c").into(), sequence: 5 };
        let versions = [("a", 6, Put), ("a", 4, Put), ("b", 4, Put), ("c", 4, Put)];
        assert_eq!(kept(9, std::slice::from_ref(&delete), false, &versions), [6, 4]);
        assert_eq!(kept(5, std::slice::from_ref(&delete), false, &versions), [6, 4]);
        assert_eq!(kept(4, std::slice::from_ref(&delete), false, &versions), [6, 4, 4, 4]);
    }
}
