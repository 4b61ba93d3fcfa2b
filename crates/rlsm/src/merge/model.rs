//! A model for tests: a flat list of versions, and what a reader must find in it.

use proptest::prelude::*;

use super::cursor::Cursor;
use crate::entry::{Entry, EntryKind, RangeTombstone, SequenceNumber};
use crate::error::{Error, Result};

/// An owned version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    pub key: Vec<u8>,
    pub sequence: SequenceNumber,
    pub kind: EntryKind,
    pub value: Vec<u8>,
}

impl Version {
    pub fn entry(&self) -> Entry<'_> {
        Entry { key: &self.key, sequence: self.sequence, kind: self.kind, value: &self.value }
    }
}

impl From<Entry<'_>> for Version {
    fn from(entry: Entry<'_>) -> Self {
        Self { key: entry.key.into(), sequence: entry.sequence, kind: entry.kind, value: entry.value.into() }
    }
}

/// Sorts versions in the order of cursors.
pub(crate) fn sort(versions: &mut [Version]) {
    versions.sort_by(|a, b| a.key.cmp(&b.key).then(b.sequence.cmp(&a.sequence)));
}

/// Keys so short that many are equal.
pub(crate) fn key() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(0_u8..3, 0..4)
}

/// Versions with ascending sequence numbers from 1.
pub(crate) fn versions(most: usize) -> impl Strategy<Value = Vec<Version>> {
    prop::collection::vec((key(), prop::option::weighted(0.8, prop::collection::vec(any::<u8>(), 0..4))), 0..most)
        .prop_map(|written| {
            let numbered = (1..).zip(written);
            let version = |(sequence, (key, value)): (SequenceNumber, (Vec<u8>, Option<Vec<u8>>))| Version {
                key,
                sequence,
                kind: if value.is_some() { EntryKind::Put } else { EntryKind::Delete },
                value: value.unwrap_or_default(),
            };
            numbered.map(version).collect()
        })
}

/// The newest version of each key that `snapshot` sees, in key order.
pub(crate) fn newest(versions: &[Version], snapshot: SequenceNumber) -> Vec<Version> {
    let mut sorted: Vec<Version> = versions.iter().filter(|version| version.sequence <= snapshot).cloned().collect();
    sort(&mut sorted);
    sorted.dedup_by(|later, earlier| later.key == earlier.key);
    sorted
}

/// The live versions that `snapshot` sees, in key order.
pub(crate) fn live(versions: &[Version], deletes: &[RangeTombstone], snapshot: SequenceNumber) -> Vec<Version> {
    let mut sorted = newest(versions, snapshot);
    let is_deleted = |version: &Version| {
        let over = |delete: &&RangeTombstone| *delete.low <= *version.key && *version.key < *delete.high;
        let seen = |delete: &RangeTombstone| delete.sequence <= snapshot && delete.sequence > version.sequence;
        version.kind == EntryKind::Delete || deletes.iter().filter(over).any(seen)
    };
    sorted.retain(|version| !is_deleted(version));
    sorted
}

/// A movement of a cursor.
#[derive(Debug, Clone)]
pub(crate) enum CursorMove {
    Seek(Vec<u8>),
    SeekForPrevious(Vec<u8>),
    First,
    Last,
    Next,
    Previous,
}

impl CursorMove {
    pub fn make(&self, cursor: &mut dyn Cursor) -> Result<()> {
        match self {
            Self::Seek(key) => cursor.seek(key),
            Self::SeekForPrevious(key) => cursor.seek_for_previous(key),
            Self::First => cursor.first(),
            Self::Last => cursor.last(),
            Self::Next => cursor.next(),
            Self::Previous => cursor.previous(),
        }
    }

    /// Where the movement leads from `at` in a list sorted by key.
    pub fn lead<T>(&self, list: &[T], key_of: impl Fn(&T) -> &[u8], at: Option<usize>) -> Option<usize> {
        let to = match self {
            Self::Seek(key) => Some(list.partition_point(|item| key_of(item) < &**key)),
            Self::SeekForPrevious(key) => list.partition_point(|item| key_of(item) <= &**key).checked_sub(1),
            Self::First => Some(0),
            Self::Last => list.len().checked_sub(1),
            Self::Next => at.map(|at| at + 1),
            Self::Previous => at.and_then(|at| at.checked_sub(1)),
        };
        to.filter(|&to| to < list.len())
    }
}

/// Movements, some of them to keys of `target`.
pub(crate) fn movement<Keys: Strategy<Value = Vec<u8>>>(target: fn() -> Keys) -> impl Strategy<Value = CursorMove> {
    prop_oneof![
        1 => target().prop_map(CursorMove::Seek),
        1 => target().prop_map(CursorMove::SeekForPrevious),
        1 => Just(CursorMove::First),
        1 => Just(CursorMove::Last),
        5 => Just(CursorMove::Next),
        5 => Just(CursorMove::Previous),
    ]
}

/// A cursor over a sorted list that can fail at a chosen movement.
pub(crate) struct ListCursor {
    pub versions: Vec<Version>,
    pub at: Option<usize>,
    pub moves_before_failure: Option<usize>,
}

impl ListCursor {
    pub fn new(mut versions: Vec<Version>) -> Self {
        sort(&mut versions);
        Self { versions, at: None, moves_before_failure: None }
    }

    fn go(&mut self, to: Option<usize>) -> Result<()> {
        if let Some(moves) = &mut self.moves_before_failure {
            if *moves == 0 {
                return Err(Error::corrupt("data-000001", 0, "a test"));
            }
            *moves -= 1;
        }
        self.at = to.filter(|&to| to < self.versions.len());
        Ok(())
    }
}

impl Cursor for ListCursor {
    fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.go(Some(self.versions.partition_point(|version| *version.key < *key)))
    }

    fn seek_for_previous(&mut self, key: &[u8]) -> Result<()> {
        self.go(self.versions.partition_point(|version| *version.key <= *key).checked_sub(1))
    }

    fn first(&mut self) -> Result<()> {
        self.go(Some(0))
    }

    fn last(&mut self) -> Result<()> {
        self.go(self.versions.len().checked_sub(1))
    }

    fn next(&mut self) -> Result<()> {
        self.go(self.at.map(|at| at + 1))
    }

    fn previous(&mut self) -> Result<()> {
        self.go(self.at.and_then(|at| at.checked_sub(1)))
    }

    fn entry(&self) -> Option<Entry<'_>> {
        self.at.map(|at| self.versions[at].entry())
    }
}
