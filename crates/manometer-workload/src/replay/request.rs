//! A decoded request of a trace, and the form of its key.

use std::ops::Range;

use manometer_trace::{Record, RequestDetails, TraceOperation};

use crate::kv::request::KvOperation;

/// The alphabet of keys, in byte order: ids of one length sort as their numbers do.
const DIGITS: &[u8; 64] = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
/// Bits of a character of an id.
const DIGIT_BITS: u32 = 6;
/// Characters of an id whose length the trace does not record: enough for every id.
pub(super) const ID_BYTES: u32 = u64::BITS.div_ceil(DIGIT_BITS);
/// The longest key that is written, in bytes; longer ones become ids.
pub(super) const KEY_BYTES_MAX: u32 = 64 << 10;

/// A decoded request. Its key and its command are in the bytes of its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReplayRequest {
    /// When it is due, in nanoseconds since the schedule's zero.
    pub(super) due_ns: u64,
    /// The key's id.
    pub(super) key: u64,
    /// Its position in the trace, from 0.
    pub(super) number: u64,
    /// Where its bytes begin in those of its batch: first the key, then a scan's bound, then the command.
    pub(super) bytes_at: u32,
    pub(super) key_bytes: u32,
    pub(super) bound_bytes: u32,
    pub(super) command_bytes: u32,
    /// Bytes of the value that the request stores, or that is put after a read misses.
    pub(super) value_bytes: u32,
    /// The value's time to live in seconds; 0 for ever.
    pub(super) ttl_s: u32,
    /// The records that a scan reads.
    pub(super) scan_length: u32,
    /// How many requests behind it belong to the same command.
    pub(super) joined: u32,
    /// Whether a scan goes to lower keys.
    pub(super) is_backward: bool,
    /// The operation.
    pub(super) operation: KvOperation,
}

impl ReplayRequest {
    /// The first request of a trace, for the key `key`, with nothing but an operation.
    pub(super) fn of(operation: KvOperation, key: u64) -> Self {
        Self {
            due_ns: 0,
            key,
            number: 0,
            bytes_at: 0,
            key_bytes: 0,
            bound_bytes: 0,
            command_bytes: 0,
            value_bytes: 0,
            ttl_s: 0,
            scan_length: 1,
            joined: 0,
            is_backward: false,
            operation,
        }
    }

    /// Its key in the bytes of its batch.
    #[inline]
    pub(super) fn key(&self) -> Range<usize> {
        let begin = self.bytes_at as usize;
        begin..begin + self.key_bytes as usize
    }

    /// The bound of a scan in the bytes of its batch, if it has one.
    pub(super) fn bound(&self) -> Option<Range<usize>> {
        let begin = self.key().end;
        (self.bound_bytes > 0).then(|| begin..begin + self.bound_bytes as usize)
    }

    /// Its command in the bytes of its batch, if it is sent as a command.
    #[inline]
    pub(super) fn command(&self) -> Option<Range<usize>> {
        let begin = self.key().end + self.bound_bytes as usize;
        (self.command_bytes > 0).then(|| begin..begin + self.command_bytes as usize)
    }
}

/// The key-value operation for a recorded one. A block's number becomes a key, its content the value.
pub(super) fn operation(recorded: TraceOperation) -> KvOperation {
    match recorded {
        TraceOperation::Get | TraceOperation::Read => KvOperation::Read,
        TraceOperation::Put | TraceOperation::Write => KvOperation::Put,
        TraceOperation::Insert => KvOperation::Insert,
        TraceOperation::Update => KvOperation::Update,
        TraceOperation::Delete | TraceOperation::Discard => KvOperation::Delete,
        TraceOperation::Scan => KvOperation::Scan,
        TraceOperation::ReadModifyWrite => KvOperation::ReadModifyWrite,
    }
}

/// Whether a recorded operation stores a whole string, whose size can be set.
pub(super) fn stores_string(operation: TraceOperation) -> bool {
    matches!(operation, TraceOperation::Put | TraceOperation::Insert)
}

/// The form in which a key is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyForm<'a> {
    /// The bytes of the trace.
    Recorded(&'a [u8]),
    /// The bytes of the trace behind the number of the device, where the trace distinguishes equal keys by it.
    OnDevice(u32, &'a [u8]),
    /// The id in this many characters.
    Id(u64, u32),
}

impl<'a> KeyForm<'a> {
    /// The form of the key of `record`: its bytes, where the trace has them and has no other length for them, else its id
    /// in as many characters as recorded, or in as many as distinguish it.
    #[inline]
    pub(super) fn of(record: &Record, details: &RequestDetails<'a>) -> Self {
        let is_whole = |key: &&[u8]| {
            let is_recorded_length = record.key_size.is_none_or(|bytes| bytes as usize == key.len());
            is_recorded_length && !key.is_empty() && key.len() <= KEY_BYTES_MAX as usize && !record.operation.is_block()
        };
        match details.key.filter(is_whole) {
            Some(key) if record.device == 0 => Self::Recorded(key),
            Some(key) => Self::OnDevice(record.device, key),
            None => Self::Id(record.key, id_bytes(record.key, record.key_size)),
        }
    }

    /// Its length in bytes.
    pub(super) fn len(&self) -> u32 {
        match self {
            Self::Recorded(key) => key.len() as u32,
            Self::OnDevice(device, key) => (prefix(*device).len() + key.len()) as u32,
            Self::Id(_, bytes) => *bytes,
        }
    }

    /// Appends the key to `out`.
    #[inline]
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Recorded(key) => out.extend_from_slice(key),
            Self::OnDevice(device, key) => {
                out.extend_from_slice(prefix(*device).as_bytes());
                out.extend_from_slice(key);
            }
            Self::Id(id, bytes) => append_id(*id, *bytes, out),
        }
    }

    /// Appends another key of the same key space to `out`, such as the bound of a scan; not for ids, which have an order of
    /// their own.
    pub(super) fn write_other(&self, other: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Recorded(_) => out.extend_from_slice(other),
            Self::OnDevice(device, _) => {
                out.extend_from_slice(prefix(*device).as_bytes());
                out.extend_from_slice(other);
            }
            Self::Id(..) => {}
        }
    }
}

/// What precedes the keys of a device other than the first. Braces stay where they are: a hash tag stays one.
fn prefix(device: u32) -> String {
    format!("{device}:")
}

/// Characters of the id `id` with the recorded length `recorded`.
fn id_bytes(id: u64, recorded: Option<u32>) -> u32 {
    let needed = (u64::BITS - id.leading_zeros()).div_ceil(DIGIT_BITS).max(1);
    recorded.unwrap_or(ID_BYTES).clamp(needed, KEY_BYTES_MAX)
}

/// Length in bytes of the key of `record` as it is written without the trace's own bytes.
pub fn key_bytes(record: &Record) -> u32 {
    id_bytes(record.key, record.key_size)
}

/// Overwrites `key` with the id `id`, `bytes` long (see [`key_bytes`]).
#[inline]
pub fn write_key(id: u64, bytes: u32, key: &mut Vec<u8>) {
    key.clear();
    append_id(id, bytes, key);
}

/// Appends the id `id` in `bytes` characters, padded in front.
#[inline]
fn append_id(id: u64, bytes: u32, key: &mut Vec<u8>) {
    let digits = bytes.min(ID_BYTES);
    key.resize(key.len() + (bytes - digits) as usize, DIGITS[0]);
    let all: [u8; ID_BYTES as usize] =
        std::array::from_fn(|place| DIGITS[(id >> (DIGIT_BITS * (ID_BYTES - 1 - place as u32))) as usize % 64]);
    key.extend_from_slice(&all[(ID_BYTES - digits) as usize..]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(id: u64, bytes: u32) -> Vec<u8> {
        let mut key = Vec::new();
        write_key(id, bytes, &mut key);
        key
    }

    fn form<'a>(key_size: Option<u32>, device: u32, key: Option<&'a [u8]>) -> KeyForm<'a> {
        let record = Record { key_size, device, ..Record::new(TraceOperation::Get, 9) };
        KeyForm::of(&record, &RequestDetails { key, ..RequestDetails::default() })
    }

    #[test]
    fn a_key_is_sent_as_recorded_where_the_trace_has_it() {
        assert_eq!(form(None, 0, Some(b"{a}:1")), KeyForm::Recorded(b"{a}:1"));
        assert_eq!(form(Some(5), 0, Some(b"{a}:1")), KeyForm::Recorded(b"{a}:1"));
        assert_eq!(form(Some(40), 0, Some(b"{a}:1")), KeyForm::Id(9, 40), "the trace has a stand-in only");
        assert_eq!([form(None, 0, None), form(None, 0, Some(b""))], [KeyForm::Id(9, 11); 2]);
        let on_device = form(None, 3, Some(b"{a}:1"));
        let mut out = Vec::new();
        on_device.write(&mut out);
        on_device.write_other(b"z", &mut out);
        assert_eq!((out.as_slice(), on_device.len()), (&b"3:{a}:13:z"[..], 7));
    }

    #[test]
    fn a_block_has_an_id() {
        let record = Record::new(TraceOperation::Read, 9);
        assert_eq!(
            KeyForm::of(&record, &RequestDetails { key: Some(b"9"), ..RequestDetails::default() }),
            KeyForm::Id(9, 11)
        );
    }

    #[test]
    fn an_id_is_as_long_as_recorded_where_that_distinguishes_it() {
        let of = |key, key_size| key_bytes(&Record { key_size, ..Record::new(TraceOperation::Get, key) });
        assert_eq!([None, Some(3), Some(40), Some(u32::MAX)].map(|size| of(1, size)), [11, 3, 40, KEY_BYTES_MAX]);
        assert_eq!([of(63, Some(1)), of(64, Some(1)), of(u64::MAX, Some(5)), of(0, Some(0))], [1, 2, 11, 1]);
        assert_eq!(written(0, 11), b"-----------");
        assert_eq!(written(u64::MAX, 13), b"--Ezzzzzzzzzz");
        assert_eq!(written(64, 2), b"0-");
    }

    proptest! {
        #[test]
        fn ids_differ_and_sort_as_their_numbers_do(one: u64, other: u64, bytes in 11..40_u32) {
            let (first, second) = (written(one, bytes), written(other, bytes));
            prop_assert_eq!(first.len(), bytes as usize);
            prop_assert_eq!(first.cmp(&second), one.cmp(&other));
        }

        #[test]
        fn short_ids_of_one_length_differ_and_keep_their_order(one in 0..1_u64 << 20, other in 0..1_u64 << 20, bytes in 4..11_u32) {
            let of = |id| written(id, id_bytes(id, Some(bytes)));
            prop_assert_eq!(of(one).len(), bytes as usize);
            prop_assert_eq!(of(one).cmp(&of(other)), one.cmp(&other));
        }
    }
}
