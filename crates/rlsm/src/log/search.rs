//! Finding whole records after one that is not.
//!
//! A record may begin at any byte, and the bytes that follow give its length. Computing the checksum of every candidate
//! would take time quadratic in the length of the file. So long candidates are checked by arithmetic: with P(i) the
//! checksum of the first i bytes, that of the bytes from a to b with the initial value s is (s + P(a)) x^8(b - a) +
//! P(b) modulo the CRC polynomial.

use std::array;

use crc32c::{crc32c, crc32c_append};

use super::frame::{CHECKSUM_BYTES, RecordFrame, frame, is_synced};

/// Up to this length a record's checksum is computed from its bytes: that is as fast.
const READ_BYTES_MAX: usize = 4096;

/// The distance of the prefixes whose checksum is stored.
const STRIDE_BYTES: usize = 256;

/// The CRC-32C polynomial without x^32; the highest bit is x^0.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// The whole records after one that is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrailingRecords {
    Nothing,
    /// Only records before which not everything was durable.
    Unsynced,
    /// A record before which everything was durable when it was written.
    Synced,
}

/// The whole records that begin at `from` or after it.
pub(super) fn trailing_records(bytes: &[u8], salt: u32, from: usize) -> TrailingRecords {
    let tail = bytes.get(from..).unwrap_or_default();
    let prefixes = PrefixChecksums::new(tail, salt);
    let mut found = TrailingRecords::Nothing;
    let mut at = 0;
    while at + CHECKSUM_BYTES < tail.len() {
        let candidate = frame(tail, at).ok();
        match candidate.and_then(|frame| Some((frame, prefixes.check(tail, frame)?))) {
            Some((_, true)) => return TrailingRecords::Synced,
            Some((frame, false)) => {
                found = TrailingRecords::Unsynced;
                at = frame.end;
            }
            None => at += 1,
        }
    }
    found
}

/// The checksums of prefixes.
struct PrefixChecksums {
    salt: u32,
    /// P of every multiple of the stride.
    checksums: Vec<u32>,
    /// For each byte of a length, the lowest first, and each of its values v: x^(8 v 256^i).
    powers: Vec<[u32; 256]>,
}

impl PrefixChecksums {
    fn new(bytes: &[u8], salt: u32) -> Self {
        let after = |checksum: &mut u32, piece: &[u8]| {
            let before = *checksum;
            *checksum = crc32c_append(before, piece);
            Some(before)
        };
        let checksums = bytes.chunks(STRIDE_BYTES).chain([&[][..]]).scan(crc32c(&[]), after).collect();
        let powers = powers(bytes.len());
        Self { salt, checksums, powers }
    }

    fn check(&self, bytes: &[u8], frame: RecordFrame) -> Option<bool> {
        let len = frame.end - frame.start;
        if len <= READ_BYTES_MAX {
            return frame.check(bytes, self.salt);
        }
        let begun = self.shifted(self.salt ^ self.prefix(bytes, frame.start), len);
        is_synced(begun ^ self.prefix(bytes, frame.end) ^ frame.checksum)
    }

    /// P(at).
    fn prefix(&self, bytes: &[u8], at: usize) -> u32 {
        let stride = at / STRIDE_BYTES;
        crc32c_append(self.checksums[stride], &bytes[stride * STRIDE_BYTES..at])
    }

    /// `checksum` times x^(8 len).
    fn shifted(&self, checksum: u32, len: usize) -> u32 {
        let digits = self.powers.iter().zip(len.to_le_bytes()).filter(|(_, digit)| *digit != 0);
        digits.fold(checksum, |product, (powers, digit)| times(product, powers[usize::from(digit)]))
    }
}

/// The powers for lengths up to `len_max`.
fn powers(len_max: usize) -> Vec<[u32; 256]> {
    let mut base = 1 << (31 - 8);
    let digits = (usize::BITS - len_max.leading_zeros()).div_ceil(8);
    let of_digit = |_| {
        let mut next = 1 << 31;
        let powers = array::from_fn(|_| {
            let power = next;
            next = times(power, base);
            power
        });
        base = next;
        powers
    };
    (0..digits).map(of_digit).collect()
}

/// The product modulo the CRC polynomial.
fn times(left: u32, mut right: u32) -> u32 {
    let mut product = 0;
    for bit in (0..32).rev() {
        if left >> bit & 1 == 1 {
            product ^= right;
        }
        right = (right >> 1) ^ if right & 1 == 1 { POLYNOMIAL } else { 0 };
    }
    product
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::log::frame::{mark_synced, put};

    fn noise(len: usize, seed: u64) -> Vec<u8> {
        let number = |at: usize| xxhash_rust::xxh3::xxh3_64_with_seed(&at.to_le_bytes(), seed) as u8;
        (0..len).map(number).collect()
    }

    proptest! {
        #[test]
        fn a_record_is_found_wherever_it_begins(
            before in 0_usize..3000,
            len in 1_usize..20_000,
            after in 0_usize..3000,
            salt: u32,
            is_synced: bool,
        ) {
            let mut bytes = noise(before, 1);
            put(&mut bytes, salt, &noise(len, 2));
            if is_synced {
                mark_synced(&mut bytes[before..]);
            }
            bytes.extend(noise(after, 3));
            let expected = if is_synced { TrailingRecords::Synced } else { TrailingRecords::Unsynced };
            prop_assert_eq!(trailing_records(&bytes, salt, 0), expected);
            prop_assert_eq!(trailing_records(&bytes, salt, before), expected);
            prop_assert_eq!(trailing_records(&bytes, salt, before + 1), TrailingRecords::Nothing);
            prop_assert_eq!(trailing_records(&bytes, !salt, 0), TrailingRecords::Nothing);
        }
    }

    #[test]
    fn a_long_record_is_found() {
        for len in [70_000, (1 << 24) + 70_000] {
            let mut bytes = noise(99, 1);
            put(&mut bytes, 9, &noise(len, 2));
            assert_eq!(trailing_records(&bytes, 9, 0), TrailingRecords::Unsynced);
            assert_eq!(trailing_records(&bytes[..bytes.len() - 1], 9, bytes.len() - 5000), TrailingRecords::Nothing);
        }
    }

    #[test]
    fn a_synced_record_is_found_wherever_it_is() {
        let mut bytes = noise(100, 1);
        put(&mut bytes, 9, b"one");
        bytes.extend(noise(100, 2));
        let second = bytes.len();
        put(&mut bytes, 9, b"two");
        mark_synced(&mut bytes[second..]);
        put(&mut bytes, 9, b"three");
        assert_eq!(trailing_records(&bytes, 9, 0), TrailingRecords::Synced);
    }

    #[test]
    fn zeros_and_nothing_are_no_records() {
        assert_eq!(trailing_records(&[0; 10_000], 1, 0), TrailingRecords::Nothing);
        assert_eq!(trailing_records(&[], 1, 0), TrailingRecords::Nothing);
        assert_eq!(trailing_records(&[1; 5], 1, 9), TrailingRecords::Nothing);
    }
}
