//! The entries in a block's body, one after another.
//!
//! Each begins with (sequence - the run's base) << 1 as a varint; its lowest bit says that the key's length and the
//! value's length << 1 | is-delete follow, because they differ from the entry before. Then key and value.

use crate::codec::{put_varint, varint, varint_len};
use crate::entry::{Entry, Kind, Sequence};

/// At most this many entries lie in a block, so that a byte names one.
pub(crate) const ENTRIES_MAX: u32 = 255;

/// Where the parts of an entry lie in a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub key_start: u32,
    pub key_len: u32,
    pub value_len: u32,
    pub kind: Kind,
    pub sequence: Sequence,
}

impl Slot {
    pub fn value_start(&self) -> u32 {
        self.key_start + self.key_len
    }

    pub fn key<'a>(&self, body: &'a [u8]) -> &'a [u8] {
        &body[self.key_start as usize..][..self.key_len as usize]
    }

    /// The entry in the body that it was found in.
    pub fn entry<'a>(&self, body: &'a [u8]) -> Entry<'a> {
        let value = &body[self.value_start() as usize..][..self.value_len as usize];
        Entry { key: self.key(body), sequence: self.sequence, kind: self.kind, value }
    }
}

/// The body is no list of entries although its checksum is right.
#[derive(Debug)]
pub(crate) struct Malformed;

impl Malformed {
    pub const WHAT: &'static str = "the block's entries do not end where it does";
}

/// Lengths and kind that an entry may share with the one before.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shape {
    key_len: u32,
    /// Value length << 1 | is-delete.
    value: u64,
}

impl Shape {
    /// Longer than any body, so that a first entry without lengths of its own is malformed.
    const NONE: Self = Self { key_len: 0, value: u64::MAX };

    fn of(entry: &Entry<'_>) -> Self {
        let deleted = u64::from(entry.kind == Kind::Delete);
        Self { key_len: entry.key.len() as u32, value: (entry.value.len() as u64) << 1 | deleted }
    }
}

/// Appends entries to a body.
#[derive(Default)]
pub(crate) struct EntryEncoder {
    shape: Option<Shape>,
}

impl EntryEncoder {
    /// How many bytes the entry would take.
    pub fn len_of(&self, entry: &Entry<'_>, base: Sequence) -> usize {
        let shape = Shape::of(entry);
        let shape_len = match self.shape {
            Some(last) if last == shape => 0,
            _ => varint_len(u64::from(shape.key_len)) + varint_len(shape.value),
        };
        varint_len(entry.sequence.saturating_sub(base) << 1) + shape_len + entry.key.len() + entry.value.len()
    }

    pub fn push(&mut self, body: &mut Vec<u8>, entry: &Entry<'_>, base: Sequence) {
        let shape = Shape::of(entry);
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

/// Goes through a body entry by entry.
#[derive(Clone, Copy)]
pub(crate) struct Scan {
    at: usize,
    base: Sequence,
    shape: Shape,
}

impl Scan {
    pub fn new(base: Sequence) -> Self {
        Self { at: 0, base, shape: Shape::NONE }
    }

    /// From an entry that has its lengths.
    pub fn at(at: usize, base: Sequence) -> Self {
        Self { at, ..Self::new(base) }
    }

    /// Where the next entry begins.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Reads lengths at `shape_at`, then goes on at `at`.
    pub fn take_shape(&mut self, body: &[u8], shape_at: usize, at: usize) -> Option<()> {
        self.at = shape_at;
        self.read_shape(body)?;
        self.at = at;
        Some(())
    }

    /// The next entry of `body`, the same at every call; `None` at its end.
    #[inline(always)]
    pub fn next(&mut self, body: &[u8]) -> Result<Option<Slot>, Malformed> {
        if self.at == body.len() {
            return Ok(None);
        }
        let head = varint(body, &mut self.at).map_err(|_| Malformed)?;
        if head & 1 == 1 {
            self.read_shape(body).ok_or(Malformed)?;
        }
        let (key_start, value_len) = (self.at, self.shape.value >> 1);
        // The key's length is below 2^32 and the value's below 2^63, so the sum cannot wrap.
        let end = self.at as u64 + u64::from(self.shape.key_len) + value_len;
        if end > body.len() as u64 {
            return Err(Malformed);
        }
        self.at = end as usize;
        Ok(Some(Slot {
            key_start: key_start as u32,
            key_len: self.shape.key_len,
            value_len: value_len as u32,
            kind: if self.shape.value & 1 == 1 { Kind::Delete } else { Kind::Put },
            sequence: self.base.wrapping_add(head >> 1),
        }))
    }

    fn read_shape(&mut self, body: &[u8]) -> Option<()> {
        let key_len = u32::try_from(varint(body, &mut self.at).ok()?).ok()?;
        let value = varint(body, &mut self.at).ok().filter(|value| value >> 1 <= u64::from(u32::MAX))?;
        self.shape = Shape { key_len, value };
        Some(())
    }

    /// The entry `number` entries further on.
    pub fn nth(&mut self, body: &[u8], number: u32) -> Result<Option<Slot>, Malformed> {
        for _ in 0..number {
            self.next(body)?;
        }
        self.next(body)
    }
}
