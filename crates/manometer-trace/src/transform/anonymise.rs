//! Anonymises keys and clients by hashing them with a secret, without which names cannot be guessed and checked.

use std::hash::Hasher as _;
use std::str::FromStr;

use siphasher::sip::SipHasher24;

use super::Input;
use super::nameless::nameless;
use crate::details::BatchDetails;
use crate::dropped_fields::DroppedFields;
use crate::error::TraceError;
use crate::reader::TraceReader;
use crate::record::Record;

/// A key of SipHash-2-4: the same names with the same secret have the same ids.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 16]);

impl Secret {
    /// A secret of these bytes, which should be random.
    pub fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    fn hash(&self, kind: u8, number: u64) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(&[kind]);
        hasher.write(&number.to_le_bytes());
        hasher.finish()
    }
}

impl FromStr for Secret {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        let text = text.trim();
        let hexadecimal = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        match u128::from_str_radix(text, 16) {
            Ok(number) if hexadecimal => Ok(Self(number.to_be_bytes())),
            _ => Err(TraceError::Wrong(
                "the secret is not 32 hexadecimal digits: make one with `openssl rand -hex 16`".to_owned(),
            )),
        }
    }
}

/// A trace with hashed keys and clients, without commands and bounds of scans, which have keys in them. Offsets on devices
/// are kept, since they show only seeks and sequential runs.
pub struct Anonymise {
    input: Input,
    secret: Secret,
    places: u64,
    details: Option<BatchDetails>,
    dropped: DroppedFields,
}

impl Anonymise {
    /// Hashes `input` with `secret`.
    pub fn new(input: Input, secret: Secret) -> Self {
        Self { input, secret, places: 0, details: None, dropped: DroppedFields::default() }
    }

    /// The number of block requests whose offsets were kept.
    pub fn places(&self) -> u64 {
        self.places
    }

    fn anonymise(&mut self, record: &mut Record) {
        record.client = record.client.map(|client| self.secret.hash(b'c', client));
        match record.operation.is_block() && record.offset.is_some() {
            true => self.places += 1,
            false => record.key = self.secret.hash(b'k', record.key),
        }
    }
}

impl TraceReader for Anonymise {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        let read = self.input.read(batch)?;
        batch.iter_mut().for_each(|record| self.anonymise(record));
        self.details = self.input.details().map(|details| nameless(details, read, &mut self.dropped));
        Ok(read)
    }

    fn skipped(&self) -> u64 {
        self.input.skipped()
    }

    fn lost(&self) -> u64 {
        self.input.lost()
    }

    fn details(&self) -> Option<&BatchDetails> {
        self.details.as_ref()
    }

    fn dropped(&self) -> DroppedFields {
        let mut dropped = self.input.dropped();
        dropped.add(&self.dropped);
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_32_digits() {
        assert!("000102030405060708090a0b0c0d0e0f\n".parse::<Secret>().is_ok_and(|secret| secret.0[15] == 15));
        for wrong in ["", "00", "+00102030405060708090a0b0c0d0e0f", "000102030405060708090a0b0c0d0e0g"] {
            assert!(wrong.parse::<Secret>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_hash_is_siphash_2_4() {
        // The reference's key and the first nine bytes of its messages: 00 01 … 08.
        let secret = Secret(std::array::from_fn(|at| at as u8));
        assert_eq!(secret.hash(0, 0x0807_0605_0403_0201), 0x9e00_82df_0ba9_e4b0);
    }
}
