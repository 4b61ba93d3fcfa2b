//! The format of every value: a header that reveals a lost or wrong value, then random bytes.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0 to 3 | `MNM1` |
//! | 4 to 7 | the value's whole length in bytes, little-endian |
//! | 8 to 15 | hash of the key, rapidhash V3, little-endian |
//! | 16 to 23 | check over the 16 bytes before and the 8 bytes behind, little-endian |
//! | 24 … | random bytes |
//!
//! The header is part of the value: a record of 1000 bytes stays 1000 bytes. The check covers no byte further in:
//! touching the end of a value would cost a cache miss for every read, which a benchmark that only checks for existence
//! does not pay.
//!
//! A value of fewer than 32 bytes has no room for a header: it begins with up to eight bytes of the key's hash, as many
//! as fit, and random bytes follow.

use rapidhash::v3::rapidhash_v3;

/// Length of the header in bytes.
pub const HEADER_BYTES: usize = 24;

/// The shortest value with a header, in bytes: the header and the random bytes that its check covers.
pub const MIN_BYTES_WITH_HEADER: usize = HEADER_BYTES + 8;

const MAGIC: u64 = u32::from_le_bytes(*b"MNM1") as u64;
const FOLD: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93];

/// What is wrong with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// It has another length.
    #[error("it is {got} bytes long, not {wanted}")]
    Length {
        /// Its length in bytes.
        got: usize,
        /// The length written.
        wanted: usize,
    },
    /// It has no header of Manometer.
    #[error("it does not begin with Manometer's header")]
    NotOurs,
    /// It belongs to another key.
    #[error("it is the value of another key")]
    OtherKey,
    /// Its bytes were changed.
    #[error("its check does not match its bytes")]
    Damaged,
}

/// Turns `value` into a value of `key`: writes the header over its first [`HEADER_BYTES`], or as much as fits.
#[inline]
pub fn write_header(key: &[u8], value: &mut [u8]) {
    if value.len() < MIN_BYTES_WITH_HEADER {
        let hash = rapidhash_v3(key).to_le_bytes();
        let marked = value.len().min(hash.len());
        return value[..marked].copy_from_slice(&hash[..marked]);
    }
    let first = first_word(value.len());
    let key_hash = rapidhash_v3(key);
    let check = check(first, key_hash, salt(value));
    value[..8].copy_from_slice(&first.to_le_bytes());
    value[8..16].copy_from_slice(&key_hash.to_le_bytes());
    value[16..24].copy_from_slice(&check.to_le_bytes());
}

/// Checks that `value` was written for `key`.
///
/// # Errors
/// What is wrong with it.
#[inline]
pub fn verify(key: &[u8], value: &[u8]) -> Result<(), ValueError> {
    if value.len() < MIN_BYTES_WITH_HEADER {
        let marked = value.len().min(8);
        let own = value[..marked] == rapidhash_v3(key).to_le_bytes()[..marked];
        return if own { Ok(()) } else { Err(ValueError::OtherKey) };
    }
    let (first, key_hash) = (word(value, 0), word(value, 8));
    if first as u32 != MAGIC as u32 {
        return Err(ValueError::NotOurs);
    }
    if first != first_word(value.len()) {
        return Err(ValueError::Length { got: value.len(), wanted: (first >> 32) as usize });
    }
    if key_hash != rapidhash_v3(key) {
        return Err(ValueError::OtherKey);
    }
    if word(value, 16) != check(first, key_hash, salt(value)) {
        return Err(ValueError::Damaged);
    }
    Ok(())
}

#[inline]
fn first_word(bytes: usize) -> u64 {
    MAGIC | (bytes as u64) << 32
}

#[inline]
fn word(value: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&value[at..at + 8]);
    u64::from_le_bytes(bytes)
}

#[inline]
fn salt(value: &[u8]) -> u64 {
    word(value, HEADER_BYTES)
}

#[inline]
fn check(first: u64, key_hash: u64, salt: u64) -> u64 {
    fold(fold(first ^ FOLD[0], key_hash ^ FOLD[1]) ^ FOLD[0], salt ^ FOLD[1])
}

/// Multiplies to 128 bits and folds the halves: every bit of both factors reaches the result.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_fault_has_its_name() {
        let mut value = vec![7; 100];
        write_header(b"user1", &mut value);
        assert_eq!(verify(b"user1", &value), Ok(()));
        assert_eq!(verify(b"user2", &value), Err(ValueError::OtherKey));
        assert_eq!(verify(b"user1", &value[..99]), Err(ValueError::Length { got: 99, wanted: 100 }));
        assert_eq!(verify(b"user1", &[0; 100]), Err(ValueError::NotOurs));
        value[31] ^= 1;
        assert_eq!(verify(b"user1", &value), Err(ValueError::Damaged));
    }

    #[test]
    fn the_hash_on_disk_stays_what_it_is() {
        assert_eq!(rapidhash_v3(b"user6284781860667377211"), HASH_OF_RECORD_0);
    }

    /// A different hash would invalidate existing databases on disk.
    const HASH_OF_RECORD_0: u64 = 648_325_713_560_049_344;

    proptest! {
        #[test]
        fn a_short_value_knows_its_key(len in 0..MIN_BYTES_WITH_HEADER) {
            let mut value = vec![0xA5; len];
            write_header(b"user42", &mut value);
            prop_assert_eq!(verify(b"user42", &value), Ok(()));
            prop_assert_eq!(verify(b"user43", &value).is_err(), len > 0);
        }

        #[test]
        fn a_flipped_bit_shows(len in MIN_BYTES_WITH_HEADER..2000, bit in 0usize..256) {
            let mut value = vec![0xA5; len];
            write_header(b"user42", &mut value);
            value[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(verify(b"user42", &value).is_err());
        }
    }
}
