//! Writes that are made together or not at all, and their form in the write-ahead log.
//!
//! The form, in varints (LEB128) and plain bytes:
//!
//! | what | form |
//! | --- | --- |
//! | first sequence, twice, plus one if there is not exactly one operation | varint |
//! | number of operations, unless there is exactly one | varint |
//! | per operation: length of the key, four times, plus 0 for put, 1 for delete, 2 for delete of a range | varint |
//! | for put the length of the value, for delete of a range that of the upper bound, for delete nothing | varint |
//! | the key or lower bound, then the value or upper bound | bytes |
//!
//! The first operation has the first sequence, each other one the next.

use crate::codec::{BadVarint, Input, put_varint};
use crate::entry::{KEY_BYTES_MAX, NUMBER_LIMIT, Sequence, VALUE_BYTES_MAX};
use crate::error::{Error, Result};

/// The most that one batch holds, in bytes.
const BATCH_BYTES_MAX: usize = 2 << 30;

const PUT: u64 = 0;
const DELETE: u64 = 1;
const DELETE_RANGE: u64 = 2;

/// Writes that are made together or not at all, in the order in which they were put in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    operations: Vec<u8>,
    len: u32,
    user_bytes: u64,
}

impl Batch {
    /// A batch of nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives `key` a value.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        check_key("the key", key)?;
        if value.len() > VALUE_BYTES_MAX {
            return Err(invalid(format!("the value has {} bytes; at most 1 GiB can be stored", value.len())));
        }
        self.push(PUT, key, Some(value))
    }

    /// Takes `key` away.
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        check_key("the key", key)?;
        self.push(DELETE, key, None)
    }

    /// Takes all keys away from `low` up to, but without, `high`.
    pub fn delete_range(&mut self, low: &[u8], high: &[u8]) -> Result<()> {
        check_key("the lower bound", low)?;
        check_key("the upper bound", high)?;
        if low >= high {
            return Err(invalid("the range to delete is empty: its lower bound must be below its upper bound".into()));
        }
        self.push(DELETE_RANGE, low, Some(high))
    }

    /// Forgets everything put in, and keeps the memory for what comes.
    pub fn clear(&mut self) {
        self.operations.clear();
        self.len = 0;
        self.user_bytes = 0;
    }

    /// How many operations are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether no operation is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes of all keys, values and bounds in it.
    #[must_use]
    pub fn user_bytes(&self) -> u64 {
        self.user_bytes
    }

    /// The operations, in order.
    pub(crate) fn operations(&self) -> impl Iterator<Item = Operation<'_>> {
        Operations(Input::new(&self.operations))
    }

    /// At most as long as what [`Batch::encode`] appends.
    pub(crate) fn max_encoded_len(&self) -> usize {
        self.operations.len() + 15
    }

    /// Appends the form for the log, in which the first operation has the sequence `first`.
    pub(crate) fn encode(&self, first: Sequence, payload: &mut Vec<u8>) {
        assert!(first < NUMBER_LIMIT, "sequence {first} does not fit into 63 bits");
        payload.reserve(self.max_encoded_len());
        put_varint(payload, first << 1 | u64::from(self.len != 1));
        if self.len != 1 {
            put_varint(payload, u64::from(self.len));
        }
        payload.extend_from_slice(&self.operations);
    }

    fn push(&mut self, kind: u64, key: &[u8], more: Option<&[u8]>) -> Result<()> {
        let user_bytes = key.len() + more.map_or(0, <[u8]>::len);
        if self.operations.len() + user_bytes > BATCH_BYTES_MAX {
            return Err(invalid("the batch holds more than 2 GiB: write what is in it first".into()));
        }
        let Some(len) = self.len.checked_add(1) else {
            return Err(invalid("the batch holds 4 billion operations: write what is in it first".into()));
        };
        self.operations.reserve(user_bytes + LENGTHS_BYTES_MAX);
        put_varint(&mut self.operations, (key.len() as u64) << 2 | kind);
        if let Some(more) = more {
            put_varint(&mut self.operations, more.len() as u64);
        }
        self.operations.extend_from_slice(key);
        self.operations.extend_from_slice(more.unwrap_or_default());
        self.len = len;
        self.user_bytes += user_bytes as u64;
        Ok(())
    }
}

/// What the lengths of a key and a value take at most.
const LENGTHS_BYTES_MAX: usize = 10;

fn check_key(name: &str, key: &[u8]) -> Result<()> {
    if key.len() > KEY_BYTES_MAX {
        return Err(invalid(format!("{name} has {} bytes; at most {KEY_BYTES_MAX} can be stored", key.len())));
    }
    Ok(())
}

fn invalid(what: String) -> Error {
    Error::Invalid { what }
}

/// One write of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation<'a> {
    Put { key: &'a [u8], value: &'a [u8] },
    Delete { key: &'a [u8] },
    DeleteRange { low: &'a [u8], high: &'a [u8] },
}

/// A batch read from the log, all of which was checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decoded<'a> {
    pub first: Sequence,
    pub len: u32,
    operations: &'a [u8],
}

impl<'a> Decoded<'a> {
    /// The sequence after the last one of the batch.
    pub fn next_sequence(&self) -> Sequence {
        self.first + Sequence::from(self.len)
    }

    /// The operations, in order.
    pub fn operations(&self) -> impl Iterator<Item = Operation<'a>> + use<'a> {
        Operations(Input::new(self.operations))
    }
}

/// The operation of this number, from 0 on, with its sequence, of a payload that lies in `file` from `offset` on;
/// nothing behind it is looked at. `None` if there are fewer.
pub(crate) fn decode_one<'a>(
    payload: &'a [u8],
    number: u16,
    file: &str,
    offset: u64,
) -> Result<Option<(Sequence, Operation<'a>)>> {
    let mut input = Input::new(payload);
    one(&mut input, number).map_err(|what| Error::corrupt(file, offset + input.position() as u64, what))
}

fn one<'a>(input: &mut Input<'a>, number: u16) -> std::result::Result<Option<(Sequence, Operation<'a>)>, &'static str> {
    let (first, len) = head(input)?;
    if u32::from(number) >= len {
        return Ok(None);
    }
    for _ in 0..number {
        operation(input)?;
    }
    Ok(Some((first + Sequence::from(number), operation(input)?)))
}

/// Reads and checks a payload that lies in `file` from `offset` on.
pub(crate) fn decode<'a>(payload: &'a [u8], file: &str, offset: u64) -> Result<Decoded<'a>> {
    let mut input = Input::new(payload);
    decode_checked(&mut input).map_err(|what| Error::corrupt(file, offset + input.position() as u64, what))
}

fn decode_checked<'a>(input: &mut Input<'a>) -> std::result::Result<Decoded<'a>, &'static str> {
    let (first, len) = head(input)?;
    let operations = input.rest();
    for _ in 0..len {
        if input.left() == 0 {
            return Err("a batch with fewer operations than it says");
        }
        operation(input)?;
    }
    if input.left() > 0 {
        return Err("bytes after the last operation of a batch");
    }
    Ok(Decoded { first, len, operations })
}

/// The sequence of the first operation, and how many there are.
fn head(input: &mut Input<'_>) -> std::result::Result<(Sequence, u32), &'static str> {
    let head = varint(input)?;
    let first = head >> 1;
    let len = if head & 1 == 0 { 1 } else { varint(input)? };
    let len = u32::try_from(len).map_err(|_| "a batch of more than 4 billion operations")?;
    if first.checked_add(Sequence::from(len)).is_none_or(|next| next > NUMBER_LIMIT) {
        return Err("sequences beyond 63 bits");
    }
    Ok((first, len))
}

/// The operations of bytes that were checked.
struct Operations<'a>(Input<'a>);

impl<'a> Iterator for Operations<'a> {
    type Item = Operation<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.left() == 0 { None } else { operation(&mut self.0).ok() }
    }
}

fn operation<'a>(input: &mut Input<'a>) -> std::result::Result<Operation<'a>, &'static str> {
    let head = varint(input)?;
    let kind = head & 3;
    let key_len = limited(head >> 2, KEY_BYTES_MAX, "a key of more than 65535 bytes")?;
    match kind {
        PUT => {
            let value_len = limited(varint(input)?, VALUE_BYTES_MAX, "a value of more than 1 GiB")?;
            Ok(Operation::Put { key: take(input, key_len)?, value: take(input, value_len)? })
        }
        DELETE => Ok(Operation::Delete { key: take(input, key_len)? }),
        DELETE_RANGE => {
            let high_len = limited(varint(input)?, KEY_BYTES_MAX, "a bound of more than 65535 bytes")?;
            let (low, high) = (take(input, key_len)?, take(input, high_len)?);
            if low >= high {
                return Err("a delete of an empty range");
            }
            Ok(Operation::DeleteRange { low, high })
        }
        _ => Err("an operation that is no put, delete or delete of a range"),
    }
}

fn take<'a>(input: &mut Input<'a>, len: usize) -> std::result::Result<&'a [u8], &'static str> {
    input.take(len).ok_or("a length beyond the end of the batch")
}

#[inline(always)]
fn varint(input: &mut Input<'_>) -> std::result::Result<u64, &'static str> {
    input.short_varint().map_err(|bad| match bad {
        BadVarint::Cut => "a number cut off by the end of the batch",
        BadVarint::TooLong => "a number of more than 64 bits",
    })
}

fn limited(len: u64, limit: usize, what: &'static str) -> std::result::Result<usize, &'static str> {
    usize::try_from(len).ok().filter(|&len| len <= limit).ok_or(what)
}

#[cfg(test)]
mod tests;
