//! One version of one key.

/// The number of a write: later writes have higher numbers, and no two share one.
pub type Sequence = u64;

/// The longest key, in bytes.
pub(crate) const KEY_BYTES_MAX: usize = u16::MAX as usize;

/// The longest value, in bytes.
pub(crate) const VALUE_BYTES_MAX: usize = 1 << 30;

/// Sequences, and the numbers of files, are below this.
pub(crate) const NUMBER_LIMIT: u64 = 1 << 63;

/// What a version says of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The key has a value.
    Put,
    /// The key is gone.
    Delete,
}

/// One version of one key, borrowed from where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub key: &'a [u8],
    pub sequence: Sequence,
    pub kind: Kind,
    /// Empty for [`Kind::Delete`].
    pub value: &'a [u8],
}

impl Entry<'_> {
    /// What the user counts: key and value.
    pub fn user_bytes(&self) -> u64 {
        (self.key.len() + self.value.len()) as u64
    }
}

/// All keys from `low` up to, but without, `high` are gone for every version before `sequence`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeDelete {
    /// The first key that is gone.
    pub low: Box<[u8]>,
    /// The first key after it that stays.
    pub high: Box<[u8]>,
    /// When.
    pub sequence: Sequence,
}
