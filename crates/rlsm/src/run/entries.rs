//! The encoding of entries in a block's body.
//!
//! An entry begins with (sequence number - base of the run) << 1 as a varint. If the lowest bit is set, the key length
//! and value length << 1 | is-delete follow, because they differ from the entry before. Then come key and value.

use crate::codec::{put_varint, varint, varint_len};
use crate::entry::{Entry, EntryKind, SequenceNumber};

/// The most entries in a block, so that a byte can number them.
pub(crate) const ENTRIES_MAX: u32 = 255;

/// The place of an entry in a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntrySlot {
    pub key_start: u32,
    pub key_len: u32,
    pub value_len: u32,
    pub kind: EntryKind,
    pub sequence: SequenceNumber,
}

impl EntrySlot {
    pub fn value_start(&self) -> u32 {
        self.key_start + self.key_len
    }

    pub fn key<'a>(&self, body: &'a [u8]) -> &'a [u8] {
        &body[self.key_start as usize..][..self.key_len as usize]
    }

    /// The entry in `body`, where the slot was found.
    pub fn entry<'a>(&self, body: &'a [u8]) -> Entry<'a> {
        let value = &body[self.value_start() as usize..][..self.value_len as usize];
        Entry { key: self.key(body), sequence: self.sequence, kind: self.kind, value }
    }
}

/// A body that is not a list of entries although its checksum is right.
#[derive(Debug)]
pub(crate) struct MalformedBlock;

impl MalformedBlock {
    pub const WHAT: &'static str = "the block's entries do not end at its end";
}

/// Lengths and kind, which an entry may share with the one before.
#[derive(Clone, Copy, PartialEq, Eq)]
struct EntryShape {
    key_len: u32,
    /// Value length << 1 | is-delete.
    value: u64,
}

impl EntryShape {
    /// A value longer than any body, so that a first entry without lengths is malformed.
    const NONE: Self = Self { key_len: 0, value: u64::MAX };

    fn of(entry: &Entry<'_>) -> Self {
        let deleted = u64::from(entry.kind == EntryKind::Delete);
        Self { key_len: entry.key.len() as u32, value: (entry.value.len() as u64) << 1 | deleted }
    }
}

/// Encodes entries into a body.
#[derive(Default)]
pub(crate) struct EntryEncoder {
    shape: Option<EntryShape>,
}

impl EntryEncoder {
    /// The encoded length of an entry.
    pub fn len_of(&self, entry: &Entry<'_>, base: SequenceNumber) -> usize {
        let shape = EntryShape::of(entry);
        let shape_len = match self.shape {
            Some(last) if last == shape => 0,
            _ => varint_len(u64::from(shape.key_len)) + varint_len(shape.value),
        };
        varint_len(entry.sequence.saturating_sub(base) << 1) + shape_len + entry.key.len() + entry.value.len()
    }

    pub fn push(&mut self, body: &mut Vec<u8>, entry: &Entry<'_>, base: SequenceNumber) {
        let shape = EntryShape::of(entry);
        let differs = self.shape != Some(shape);
        put_varint(body, (entry.sequence - base) << 1 | u64::from(differs));
        if differs {
            put_varint(body, u64::from(shape.key_len));
            put_varint(body, shape.value);
            self.shape = Some(shape);
        }
        body.extend_from_slice(entry.key);
        body.extend_from_slice(entry.value);
    }
}

/// Decodes the entries of a body in order.
#[derive(Clone, Copy)]
pub(crate) struct EntryDecoder {
    at: usize,
    base: SequenceNumber,
    shape: EntryShape,
}

impl EntryDecoder {
    pub fn new(base: SequenceNumber) -> Self {
        Self { at: 0, base, shape: EntryShape::NONE }
    }

    /// Starts at an entry with lengths.
    pub fn at(at: usize, base: SequenceNumber) -> Self {
        Self { at, ..Self::new(base) }
    }

    /// The offset of the next entry.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Reads lengths at `shape_at`, then continues at `at`.
    pub fn take_shape(&mut self, body: &[u8], shape_at: usize, at: usize) -> Option<()> {
        self.at = shape_at;
        self.read_shape(body)?;
        self.at = at;
        Some(())
    }

    /// The next entry of `body`, which is the same in every call; `None` at the end.
    #[inline(always)]
    pub fn next(&mut self, body: &[u8]) -> Result<Option<EntrySlot>, MalformedBlock> {
        if self.at == body.len() {
            return Ok(None);
        }
        let head = varint(body, &mut self.at).map_err(|_| MalformedBlock)?;
        if head & 1 == 1 {
            self.read_shape(body).ok_or(MalformedBlock)?;
        }
        let (key_start, value_len) = (self.at, self.shape.value >> 1);
        // The key length is below 2^32 and the value length below 2^63: the sum cannot overflow.
        let end = self.at as u64 + u64::from(self.shape.key_len) + value_len;
        if end > body.len() as u64 {
            return Err(MalformedBlock);
        }
        self.at = end as usize;
        Ok(Some(EntrySlot {
            key_start: key_start as u32,
            key_len: self.shape.key_len,
            value_len: value_len as u32,
            kind: if self.shape.value & 1 == 1 { EntryKind::Delete } else { EntryKind::Put },
            sequence: self.base.wrapping_add(head >> 1),
        }))
    }

    fn read_shape(&mut self, body: &[u8]) -> Option<()> {
        let key_len = u32::try_from(varint(body, &mut self.at).ok()?).ok()?;
        let value = varint(body, &mut self.at).ok().filter(|value| value >> 1 <= u64::from(u32::MAX))?;
        self.shape = EntryShape { key_len, value };
        Some(())
    }

    /// Skips `number` entries and returns the next.
    pub fn nth(&mut self, body: &[u8], number: u32) -> Result<Option<EntrySlot>, MalformedBlock> {
        for _ in 0..number {
            self.next(body)?;
        }
        self.next(body)
    }
}
