//! Numbers and byte strings as all files have them, and reading them back from bytes that may be anything.
//!
//! A varint is LEB128: seven bits a byte, the lowest first; a set highest bit says that more follow. Numbers of a fixed
//! length are little-endian.

/// Why there is no varint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadVarint {
    /// The bytes end before it does.
    Cut,
    /// It exceeds 64 bits.
    TooLong,
}

/// Appends a varint.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// How many bytes [`put_varint`] appends.
pub(crate) fn varint_len(value: u64) -> usize {
    (u64::BITS - (value | 1).leading_zeros()).div_ceil(7) as usize
}

/// Appends a length and the bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// The two bytes at `at`, which are there, as a number.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The four bytes at `at`, which are there, as a number.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Reads the varint at `at` and moves `at` behind it, or to where it cannot be read any further.
#[inline(always)]
pub(crate) fn varint(bytes: &[u8], at: &mut usize) -> Result<u64, BadVarint> {
    let Some(word) = bytes.get(*at..).and_then(|rest| rest.first_chunk()).copied().map(u32::from_le_bytes) else {
        return varint_by_byte(bytes, at);
    };
    let ends = !word & 0x8080_8080;
    if ends == 0 {
        return varint_by_byte(bytes, at);
    }
    // Up to four bytes without a branch: all up to the first that ends a number count.
    let counted = word & (ends ^ ends.wrapping_sub(1));
    *at += ends.trailing_zeros() as usize / 8 + 1;
    Ok(u64::from(
        counted & 0x7f | (counted >> 1) & (0x7f << 7) | (counted >> 2) & (0x7f << 14) | (counted >> 3) & (0x7f << 21),
    ))
}

fn varint_by_byte(bytes: &[u8], at: &mut usize) -> Result<u64, BadVarint> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at).ok_or(BadVarint::Cut)?;
        *at += 1;
        if shift == 63 && byte > 1 {
            return Err(BadVarint::TooLong);
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(BadVarint::TooLong)
}

/// Bytes that are taken from the front, each step `None` where they end too early.
pub(crate) struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How much was taken, in bytes.
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

    /// What was not taken yet.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    #[inline(always)]
    pub fn varint(&mut self) -> Option<u64> {
        varint(self.bytes, &mut self.at).ok()
    }

    /// As [`Input::varint`], with the reason if there is none; faster where nearly all numbers have one byte.
    #[inline(always)]
    pub fn short_varint(&mut self) -> Result<u64, BadVarint> {
        match self.bytes.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(u64::from(byte))
            }
            _ => varint(self.bytes, &mut self.at),
        }
    }

    /// A number of things that follow, each at least one byte: so no damaged count makes room for more than there is.
    pub fn count(&mut self) -> Option<usize> {
        usize::try_from(self.varint()?).ok().filter(|count| *count <= self.left())
    }

    /// A length, then as many bytes.
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
        fn numbers_come_back(values in proptest::collection::vec(any::<u64>().prop_map(|v| v >> (v % 64)), 0..50)) {
            let mut bytes = Vec::new();
            for value in &values {
                let before = bytes.len();
                put_varint(&mut bytes, *value);
                prop_assert_eq!(bytes.len() - before, varint_len(*value));
            }
            let (mut input, mut short) = (Input::new(&bytes), Input::new(&bytes));
            for value in &values {
                prop_assert_eq!(input.varint(), Some(*value));
                prop_assert_eq!(short.short_varint(), Ok(*value));
            }
            prop_assert_eq!(input.left(), 0);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
            let mut at = 0;
            while varint(&bytes, &mut at).is_ok() {}
            prop_assert!(at <= bytes.len());
        }
    }

    #[test]
    fn too_long_and_cut_numbers_are_told_apart() {
        let past_64_bits = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
        assert_eq!(varint(&[0xff; 11], &mut 0), Err(BadVarint::TooLong));
        assert_eq!(varint(&past_64_bits, &mut 0), Err(BadVarint::TooLong));
        assert_eq!(varint(&[0x80], &mut 0), Err(BadVarint::Cut));
        assert_eq!(varint(&[], &mut 0), Err(BadVarint::Cut));
        assert_eq!(varint(&[1], &mut 7), Err(BadVarint::Cut));
    }
}
