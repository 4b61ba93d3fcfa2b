//! The names of operations of key-value stores, caches and devices in traces.

use crate::record::TraceOperation;

/// The operation of this name, ignoring case.
#[inline]
pub(crate) fn operation(name: &[u8]) -> Option<TraceOperation> {
    match name {
        // The most frequent names of long traces.
        b"get" | b"GET" => Some(TraceOperation::Get),
        b"set" | b"SET" => Some(TraceOperation::Put),
        _ => any_operation(name),
    }
}

fn any_operation(name: &[u8]) -> Option<TraceOperation> {
    const NAME_BYTES_MAX: usize = 20;
    let mut small = [0; NAME_BYTES_MAX];
    let small = small.get_mut(..name.len())?;
    small.copy_from_slice(name);
    small.make_ascii_lowercase();
    Some(match &*small {
        b"get" | b"gets" | b"get_lease" | b"gat" | b"gats" => TraceOperation::Get,
        b"put" | b"set" | b"set_lease" | b"cas" => TraceOperation::Put,
        b"insert" | b"add" => TraceOperation::Insert,
        b"update" | b"replace" => TraceOperation::Update,
        b"delete" | b"del" => TraceOperation::Delete,
        b"scan" => TraceOperation::Scan,
        b"read-modify-write" | b"readmodifywrite" | b"incr" | b"decr" | b"append" | b"prepend" => {
            TraceOperation::ReadModifyWrite
        }
        b"read" | b"r" => TraceOperation::Read,
        b"write" | b"w" => TraceOperation::Write,
        b"discard" | b"trim" | b"unmap" => TraceOperation::Discard,
        _ => return None,
    })
}

/// The operation of a SCSI command of 6, 10, 12 or 16 bytes.
pub(crate) fn scsi(command: u64) -> Option<TraceOperation> {
    match command {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(TraceOperation::Read),
        0x0a | 0x2a | 0xaa | 0x8a => Some(TraceOperation::Write),
        0x42 => Some(TraceOperation::Discard),
        _ => None,
    }
}

/// The operation in blktrace's letters, such as `RA` or `FWS`; `None` without sectors.
pub(crate) fn block_operation(letters: &[u8]) -> Option<TraceOperation> {
    let known = !letters.is_empty() && letters.iter().all(|letter| letter.is_ascii_alphabetic());
    let after_flush = letters.strip_prefix(b"F").unwrap_or(letters);
    match after_flush.first().filter(|_| known)? {
        b'R' => Some(TraceOperation::Read),
        b'W' => Some(TraceOperation::Write),
        b'D' => Some(TraceOperation::Discard),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_in_any_case() {
        assert_eq!(operation(b"GET_LEASE"), Some(TraceOperation::Get));
        assert_eq!(operation(b"Write"), Some(TraceOperation::Write));
        for known in TraceOperation::ALL {
            assert_eq!(operation(known.name().as_bytes()), Some(known));
        }
        assert_eq!(block_operation(b"RA"), Some(TraceOperation::Read));
        assert_eq!(block_operation(b"FWS"), Some(TraceOperation::Write));
        assert_eq!(block_operation(b"DS"), Some(TraceOperation::Discard));
        assert!([&b"FF"[..], b"N", b"", b"W1"].iter().all(|letters| block_operation(letters).is_none()));
        assert_eq!(operation(b""), None);
        assert_eq!(operation(&[b'x'; 100]), None);
        assert_eq!(scsi(0x2a), Some(TraceOperation::Write));
        assert_eq!(scsi(0x12), None);
    }
}
