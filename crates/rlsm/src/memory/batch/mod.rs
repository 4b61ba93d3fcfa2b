//! Write batches and their encoding in the WAL.
//!
//! Varints are LEB128:
//!
//! | what | form |
//! | --- | --- |
//! | first sequence number << 1, plus 1 unless there is exactly one operation | varint |
//! | number of operations, unless there is exactly one | varint |
//! | per operation: key length << 2, plus 0 for a put, 1 for a delete, 2 for a range delete | varint |
//! | value length of a put, upper bound's length of a range delete, nothing for a delete | varint |
//! | key or lower bound, then value or upper bound | bytes |
//!
//! The first operation has the first sequence number, each other one the next.

use crate::codec::{ByteReader, VarintError, put_varint};
use crate::entry::{KEY_BYTES_MAX, NUMBER_LIMIT, SequenceNumber, VALUE_BYTES_MAX};
use crate::error::{Error, Result};

/// The size limit of a batch, in bytes.
const BATCH_BYTES_MAX: usize = 2 << 30;

const PUT: u64 = 0;
const DELETE: u64 = 1;
const DELETE_RANGE: u64 = 2;

/// A write batch: operations that are applied atomically, in the order in which they were added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    operations: Vec<u8>,
    len: u32,
    user_bytes: u64,
}

impl Batch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a put: sets the value of `key`.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        check_key("the key", key)?;
        if value.len() > VALUE_BYTES_MAX {
            return Err(invalid(format!("the value has {} bytes; at most 1 GiB can be stored", value.len())));
        }
        self.push(PUT, key, Some(value))
    }

    /// Adds a delete of `key`.
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        check_key("the key", key)?;
        self.push(DELETE, key, None)
    }

    /// Adds a delete of all keys from `low` up to, and excluding, `high`.
    pub fn delete_range(&mut self, low: &[u8], high: &[u8]) -> Result<()> {
        check_key("the lower bound", low)?;
        check_key("the upper bound", high)?;
        if low >= high {
            return Err(invalid("the range to delete is empty: the lower bound must be below the upper bound".into()));
        }
        self.push(DELETE_RANGE, low, Some(high))
    }

    /// Removes all operations, and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.operations.clear();
        self.len = 0;
        self.user_bytes = 0;
    }

    /// The number of operations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are no operations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes of all keys, values and bounds.
    #[must_use]
    pub fn user_bytes(&self) -> u64 {
        self.user_bytes
    }

    /// The operations, in order.
    pub(crate) fn operations(&self) -> impl Iterator<Item = BatchOperation<'_>> {
        BatchOperations(ByteReader::new(&self.operations))
    }

    /// An upper bound for the number of bytes that [`Batch::encode`] appends.
    pub(crate) fn max_encoded_len(&self) -> usize {
        self.operations.len() + 15
    }

    /// Appends the WAL record's payload. The first operation gets the sequence number `first`.
    pub(crate) fn encode(&self, first: SequenceNumber, payload: &mut Vec<u8>) {
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
            return Err(invalid("the batch would hold more than 2 GiB: write it and begin another".into()));
        }
        let Some(len) = self.len.checked_add(1) else {
            return Err(invalid(
                "the batch would hold more than 4 billion operations: write it and begin another".into(),
            ));
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

/// The most that two varint lengths take.
const LENGTHS_BYTES_MAX: usize = 10;

fn check_key(name: &str, key: &[u8]) -> Result<()> {
    if key.len() > KEY_BYTES_MAX {
        return Err(invalid(format!("{name} has {} bytes; at most {KEY_BYTES_MAX} can be stored", key.len())));
    }
    Ok(())
}

fn invalid(problem: String) -> Error {
    Error::Invalid { problem }
}

/// An operation of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BatchOperation<'a> {
    Put { key: &'a [u8], value: &'a [u8] },
    Delete { key: &'a [u8] },
    DeleteRange { low: &'a [u8], high: &'a [u8] },
}

/// A batch decoded from the WAL. All of it was checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DecodedBatch<'a> {
    pub first: SequenceNumber,
    pub len: u32,
    operations: &'a [u8],
}

impl<'a> DecodedBatch<'a> {
    /// The sequence number after the batch's last one.
    pub fn next_sequence(&self) -> SequenceNumber {
        self.first + SequenceNumber::from(self.len)
    }

    /// The operations, in order.
    pub fn operations(&self) -> impl Iterator<Item = BatchOperation<'a>> + use<'a> {
        BatchOperations(ByteReader::new(self.operations))
    }
}

/// Decodes the operation with index `number` of a payload at `offset` of `file`, with its sequence number. Later
/// operations are not checked. `None` if there are fewer.
pub(crate) fn decode_one<'a>(
    payload: &'a [u8],
    number: u16,
    file: &str,
    offset: u64,
) -> Result<Option<(SequenceNumber, BatchOperation<'a>)>> {
    let mut input = ByteReader::new(payload);
    one(&mut input, number).map_err(|problem| Error::corrupt(file, offset + input.position() as u64, problem))
}

fn one<'a>(
    input: &mut ByteReader<'a>,
    number: u16,
) -> std::result::Result<Option<(SequenceNumber, BatchOperation<'a>)>, &'static str> {
    let (first, len) = head(input)?;
    if u32::from(number) >= len {
        return Ok(None);
    }
    for _ in 0..number {
        operation(input)?;
    }
    Ok(Some((first + SequenceNumber::from(number), operation(input)?)))
}

/// Decodes and checks a payload at `offset` of `file`.
pub(crate) fn decode<'a>(payload: &'a [u8], file: &str, offset: u64) -> Result<DecodedBatch<'a>> {
    let mut input = ByteReader::new(payload);
    decode_checked(&mut input).map_err(|problem| Error::corrupt(file, offset + input.position() as u64, problem))
}

fn decode_checked<'a>(input: &mut ByteReader<'a>) -> std::result::Result<DecodedBatch<'a>, &'static str> {
    let (first, len) = head(input)?;
    let operations = input.rest();
    for _ in 0..len {
        if input.left() == 0 {
            return Err("the batch has fewer operations than it says");
        }
        operation(input)?;
    }
    if input.left() > 0 {
        return Err("bytes follow after the last operation of the batch");
    }
    Ok(DecodedBatch { first, len, operations })
}

/// The sequence number of the first operation, and the number of operations.
fn head(input: &mut ByteReader<'_>) -> std::result::Result<(SequenceNumber, u32), &'static str> {
    let head = varint(input)?;
    let first = head >> 1;
    let len = if head & 1 == 0 { 1 } else { varint(input)? };
    let len = u32::try_from(len).map_err(|_| "the batch says it has more than 4 billion operations")?;
    if first.checked_add(SequenceNumber::from(len)).is_none_or(|next| next > NUMBER_LIMIT) {
        return Err("the sequence numbers have more than 63 bits");
    }
    Ok((first, len))
}

/// Iterates over operations that were checked.
struct BatchOperations<'a>(ByteReader<'a>);

impl<'a> Iterator for BatchOperations<'a> {
    type Item = BatchOperation<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.left() == 0 { None } else { operation(&mut self.0).ok() }
    }
}

fn operation<'a>(input: &mut ByteReader<'a>) -> std::result::Result<BatchOperation<'a>, &'static str> {
    let head = varint(input)?;
    let kind = head & 3;
    let key_len = limited(head >> 2, KEY_BYTES_MAX, "a key has more than 65535 bytes")?;
    match kind {
        PUT => {
            let value_len = limited(varint(input)?, VALUE_BYTES_MAX, "a value has more than 1 GiB")?;
            Ok(BatchOperation::Put { key: take(input, key_len)?, value: take(input, value_len)? })
        }
        DELETE => Ok(BatchOperation::Delete { key: take(input, key_len)? }),
        DELETE_RANGE => {
            let high_len = limited(varint(input)?, KEY_BYTES_MAX, "a bound has more than 65535 bytes")?;
            let (low, high) = (take(input, key_len)?, take(input, high_len)?);
            if low >= high {
                return Err("a range delete has an empty range");
            }
            Ok(BatchOperation::DeleteRange { low, high })
        }
        _ => Err("an operation has an unknown kind: 3"),
    }
}

fn take<'a>(input: &mut ByteReader<'a>, len: usize) -> std::result::Result<&'a [u8], &'static str> {
    input.take(len).ok_or("a length goes beyond the end of the batch")
}

#[inline(always)]
fn varint(input: &mut ByteReader<'_>) -> std::result::Result<u64, &'static str> {
    input.short_varint().map_err(|bad| match bad {
        VarintError::Truncated => "a number is cut off by the end of the batch",
        VarintError::Overflow => "a number has more than 64 bits",
    })
}

fn limited(len: u64, limit: usize, problem: &'static str) -> std::result::Result<usize, &'static str> {
    usize::try_from(len).ok().filter(|&len| len <= limit).ok_or(problem)
}

#[cfg(test)]
mod tests;
