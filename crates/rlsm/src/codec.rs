//! The encoding of numbers and byte strings in all files, and decoding them from untrusted bytes.
//!
//! A varint is LEB128: seven bits per byte, the lowest first; a set highest bit says that more follow. Numbers of a
//! fixed length are little-endian.

/// Why a varint cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VarintError {
    /// The bytes end before the varint does.
    Truncated,
    /// The value exceeds 64 bits.
    Overflow,
}

/// Appends a varint.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The number of bytes that [`put_varint`] appends.
pub(crate) fn varint_len(value: u64) -> usize {
    (u64::BITS - (value | 1).leading_zeros()).div_ceil(7) as usize
}

/// Appends a byte string: a varint length, then the bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Decodes a `u16` at `at`. Panics if `bytes` are too short.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// Decodes a `u32` at `at`. Panics if `bytes` are too short.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Decodes the varint at `at` and advances `at` past it; after an error, to where decoding stopped.
#[inline(always)]
pub(crate) fn varint(bytes: &[u8], at: &mut usize) -> Result<u64, VarintError> {
    let Some(word) = bytes.get(*at..).and_then(|rest| rest.first_chunk()).copied().map(u32::from_le_bytes) else {
        return varint_by_byte(bytes, at);
    };
    let ends = !word & 0x8080_8080;
    if ends == 0 {
        return varint_by_byte(bytes, at);
    }
    // Up to four bytes without a branch: mask off everything after the byte that ends the varint.
    let counted = word & (ends ^ ends.wrapping_sub(1));
    *at += ends.trailing_zeros() as usize / 8 + 1;
    Ok(u64::from(
        counted & 0x7f | (counted >> 1) & (0x7f << 7) | (counted >> 2) & (0x7f << 14) | (counted >> 3) & (0x7f << 21),
    ))
}

fn varint_by_byte(bytes: &[u8], at: &mut usize) -> Result<u64, VarintError> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at).ok_or(VarintError::Truncated)?;
        *at += 1;
        if shift == 63 && byte > 1 {
            return Err(VarintError::Overflow);
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(VarintError::Overflow)
}

/// Decodes values from the front of a byte slice. Every method returns `None` if the bytes end too early.
pub(crate) struct ByteReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ByteReader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The number of bytes consumed.
    pub fn position(&self) -> usize {
        self.at
    }

    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(taken)
    }

    /// The bytes that are not consumed yet.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    #[inline(always)]
    pub fn varint(&mut self) -> Option<u64> {
        varint(self.bytes, &mut self.at).ok()
    }

    /// As [`ByteReader::varint`], with the reason of a failure; faster where most varints have one byte.
    #[inline(always)]
    pub fn short_varint(&mut self) -> Result<u64, VarintError> {
        match self.bytes.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(u64::from(byte))
            }
            _ => varint(self.bytes, &mut self.at),
        }
    }

    /// A count of items that follow. Each takes at least one byte, so a damaged count cannot cause a large allocation.
    pub fn count(&mut self) -> Option<usize> {
        usize::try_from(self.varint()?).ok().filter(|count| *count <= self.left())
    }

    /// A byte string.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.count()?;
        self.take(len)
    }

    pub fn u8(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    pub fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take(2)?.try_into().ok()?))
    }

    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn varints_survive_encoding(values in proptest::collection::vec(any::<u64>().prop_map(|v| v >> (v % 64)), 0..50)) {
            let mut bytes = Vec::new();
            for value in &values {
                let before = bytes.len();
                put_varint(&mut bytes, *value);
                prop_assert_eq!(bytes.len() - before, varint_len(*value));
            }
            let (mut input, mut short) = (ByteReader::new(&bytes), ByteReader::new(&bytes));
            for value in &values {
                prop_assert_eq!(input.varint(), Some(*value));
                prop_assert_eq!(short.short_varint(), Ok(*value));
            }
            prop_assert_eq!(input.left(), 0);
        }

        #[test]
        fn arbitrary_bytes_cause_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
            let mut at = 0;
            while varint(&bytes, &mut at).is_ok() {}
            prop_assert!(at <= bytes.len());
        }
    }

    #[test]
    fn truncated_and_overflowing_varints_are_distinguished() {
        let past_64_bits = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
        assert_eq!(varint(&[0xff; 11], &mut 0), Err(VarintError::Overflow));
        assert_eq!(varint(&past_64_bits, &mut 0), Err(VarintError::Overflow));
        assert_eq!(varint(&[0x80], &mut 0), Err(VarintError::Truncated));
        assert_eq!(varint(&[], &mut 0), Err(VarintError::Truncated));
        assert_eq!(varint(&[1], &mut 7), Err(VarintError::Truncated));
    }
}
