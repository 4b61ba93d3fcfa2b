//! Numbers of one to ten bytes (LEB128), and reading them back from bytes that may be anything.

/// Appends `value`.
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads the number at `at` and moves `at` behind it; `None` if the bytes end before it does or it exceeds 64 bits.
#[inline(always)]
pub(crate) fn get(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let Some(word) = bytes.get(*at..).and_then(|rest| rest.first_chunk()).copied().map(u32::from_le_bytes) else {
        return get_slowly(bytes, at);
    };
    let ends = !word & 0x8080_8080;
    if ends == 0 {
        return get_slowly(bytes, at);
    }
    // Up to four bytes without a branch: all up to the first that ends a number count.
    let counted = word & (ends ^ ends.wrapping_sub(1));
    *at += ends.trailing_zeros() as usize / 8 + 1;
    Some(u64::from(
        counted & 0x7f | (counted >> 1) & (0x7f << 7) | (counted >> 2) & (0x7f << 14) | (counted >> 3) & (0x7f << 21),
    ))
}

fn get_slowly(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    *at += 1;
    if first < 0x80 { Some(u64::from(first)) } else { get_rest(bytes, at, first) }
}

fn get_rest(bytes: &[u8], at: &mut usize, first: u8) -> Option<u64> {
    let mut value = u64::from(first & 0x7f);
    for shift in (7..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        if shift == 63 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
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

    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(taken)
    }

    pub fn varint(&mut self) -> Option<u64> {
        get(self.bytes, &mut self.at)
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

/// Appends a length and the bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(values in proptest::collection::vec(any::<u64>().prop_map(|v| v >> (v % 64)), 0..50)) {
            let mut bytes = Vec::new();
            values.iter().for_each(|value| put(&mut bytes, *value));
            let mut input = Input::new(&bytes);
            for value in &values {
                prop_assert_eq!(input.varint(), Some(*value));
            }
            prop_assert_eq!(input.left(), 0);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
            let mut at = 0;
            while get(&bytes, &mut at).is_some() {}
            prop_assert!(at <= bytes.len());
        }
    }

    #[test]
    fn too_long_and_cut_numbers_are_none() {
        assert_eq!(get(&[0xff; 11], &mut 0), None);
        assert_eq!(get(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2], &mut 0), None);
        assert_eq!(get(&[0x80], &mut 0), None);
        assert_eq!(get(&[], &mut 0), None);
    }
}
