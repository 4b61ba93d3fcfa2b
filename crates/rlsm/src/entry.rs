//! Entries: versions of keys.

/// The number of a write. Later writes have higher numbers; every operation of a batch has its own.
pub type SequenceNumber = u64;

/// The longest key, in bytes.
pub(crate) const KEY_BYTES_MAX: usize = u16::MAX as usize;

/// The longest value, in bytes.
pub(crate) const VALUE_BYTES_MAX: usize = 1 << 30;

/// Sequence numbers and file numbers are below this.
pub(crate) const NUMBER_LIMIT: u64 = 1 << 63;

/// The kind of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// The key has a value.
    Put,
    /// The key is deleted: a tombstone.
    Delete,
}

/// A version of a key, borrowed from where it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub key: &'a [u8],
    pub sequence: SequenceNumber,
    pub kind: EntryKind,
    /// Empty for [`EntryKind::Delete`].
    pub value: &'a [u8],
}

impl Entry<'_> {
    /// Key and value, in bytes.
    pub fn user_bytes(&self) -> u64 {
        (self.key.len() + self.value.len()) as u64
    }
}

/// A range tombstone: deletes every version below `sequence` of the keys from `low` up to, and excluding, `high`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeTombstone {
    /// The lowest deleted key.
    pub low: Box<[u8]>,
    /// The lowest key above the deleted ones.
    pub high: Box<[u8]>,
    /// The sequence number of the delete.
    pub sequence: SequenceNumber,
}
