//! The names of operations of key-value stores, caches and devices in traces.

use crate::record::Operation;

/// The operation of this name, ignoring case.
#[inline]
pub(crate) fn operation(name: &[u8]) -> Option<Operation> {
    match name {
        // The most frequent names of long traces.
        b"get" | b"GET" => Some(Operation::Get),
        b"set" | b"SET" => Some(Operation::Put),
        _ => any_operation(name),
    }
}

fn any_operation(name: &[u8]) -> Option<Operation> {
    const NAME_BYTES_MAX: usize = 20;
    let mut small = [0; NAME_BYTES_MAX];
    let small = small.get_mut(..name.len())?;
    small.copy_from_slice(name);
    small.make_ascii_lowercase();
    Some(match &*small {
        b"get" | b"gets" | b"get_lease" | b"gat" | b"gats" => Operation::Get,
        b"put" | b"set" | b"set_lease" | b"cas" => Operation::Put,
        b"insert" | b"add" => Operation::Insert,
        b"update" | b"replace" => Operation::Update,
        b"delete" | b"del" => Operation::Delete,
        b"scan" => Operation::Scan,
        b"read-modify-write" | b"readmodifywrite" | b"incr" | b"decr" | b"append" | b"prepend" => {
            Operation::ReadModifyWrite
        }
        b"read" | b"r" => Operation::Read,
        b"write" | b"w" => Operation::Write,
        b"discard" | b"trim" | b"unmap" => Operation::Discard,
        _ => return None,
    })
}

/// The operation of a SCSI command of 6, 10, 12 or 16 bytes.
pub(crate) fn scsi(command: u64) -> Option<Operation> {
    match command {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Operation::Read),
        0x0a | 0x2a | 0xaa | 0x8a => Some(Operation::Write),
        0x42 => Some(Operation::Discard),
        _ => None,
    }
}

/// The operation in blktrace's letters, such as `RA` or `FWS`; `None` without sectors.
pub(crate) fn block_operation(letters: &[u8]) -> Option<Operation> {
    let known = !letters.is_empty() && letters.iter().all(|letter| letter.is_ascii_alphabetic());
    let after_flush = letters.strip_prefix(b"F").unwrap_or(letters);
    match after_flush.first().filter(|_| known)? {
        b'R' => Some(Operation::Read),
        b'W' => Some(Operation::Write),
        b'D' => Some(Operation::Discard),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_in_any_case() {
        assert_eq!(operation(b"GET_LEASE"), Some(Operation::Get));
        assert_eq!(operation(b"Write"), Some(Operation::Write));
        for known in Operation::ALL {
            assert_eq!(operation(known.name().as_bytes()), Some(known));
        }
        assert_eq!(block_operation(b"RA"), Some(Operation::Read));
        assert_eq!(block_operation(b"FWS"), Some(Operation::Write));
        assert_eq!(block_operation(b"DS"), Some(Operation::Discard));
        assert!([&b"FF"[..], b"N", b"", b"W1"].iter().all(|letters| block_operation(letters).is_none()));
        assert_eq!(operation(b""), None);
        assert_eq!(operation(&[b'x'; 100]), None);
        assert_eq!(scsi(0x2a), Some(Operation::Write));
        assert_eq!(scsi(0x12), None);
    }
}
