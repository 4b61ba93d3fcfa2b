//! A decoded request of a trace, and the format of its key.

use manometer_trace::{Record, TraceOperation};

use crate::kv::request::KvOperation;

/// The alphabet of keys, in byte order: keys of one length sort as their ids do.
const DIGITS: &[u8; 64] = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
/// Characters of an id.
pub(super) const KEY_BYTES_MIN: u32 = 11;
/// The longest key that is written, in bytes; longer ones are truncated.
pub(super) const KEY_BYTES_MAX: u32 = 64 << 10;

/// A decoded request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReplayRequest {
    /// When it is due, in nanoseconds since the schedule's zero.
    pub(super) due_ns: u64,
    /// The key's id.
    pub(super) key: u64,
    /// Its position in the trace, from 0.
    pub(super) number: u64,
    /// Bytes of the value that the request stores, or that is put after a read misses.
    pub(super) value_bytes: u32,
    /// Length of the key in bytes.
    pub(super) key_bytes: u32,
    /// The operation.
    pub(super) operation: KvOperation,
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

/// Length in bytes of the key of `record` as it is written.
pub fn key_bytes(record: &Record) -> u32 {
    record.key_size.unwrap_or(0).clamp(KEY_BYTES_MIN, KEY_BYTES_MAX)
}

/// Overwrites `key` with the key of the id `id`, `bytes` long (see [`key_bytes`]).
#[inline]
pub fn write_key(id: u64, bytes: u32, key: &mut Vec<u8>) {
    key.clear();
    key.resize((bytes - KEY_BYTES_MIN) as usize, DIGITS[0]);
    let digit = |place: u32| DIGITS[(id >> (6 * place)) as usize % 64];
    key.extend_from_slice(&[
        digit(10),
        digit(9),
        digit(8),
        digit(7),
        digit(6),
        digit(5),
        digit(4),
        digit(3),
        digit(2),
        digit(1),
        digit(0),
    ]);
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

    #[test]
    fn a_key_is_as_long_as_recorded_where_there_is_room_for_its_id() {
        let of = |key_size| key_bytes(&Record { key_size, ..Record::new(TraceOperation::Get, 1) });
        assert_eq!([None, Some(3), Some(40), Some(u32::MAX)].map(of), [11, 11, 40, KEY_BYTES_MAX]);
        assert_eq!(written(0, 11), b"-----------");
        assert_eq!(written(u64::MAX, 13), b"--Ezzzzzzzzzz");
    }

    proptest! {
        #[test]
        fn keys_differ_and_sort_as_their_ids_do(one: u64, other: u64, bytes in 11..40_u32) {
            let (first, second) = (written(one, bytes), written(other, bytes));
            prop_assert_eq!(first.len(), bytes as usize);
            prop_assert_eq!(first.cmp(&second), one.cmp(&other));
        }
    }
}
