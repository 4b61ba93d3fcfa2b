//! Keys as 64-bit ids, and their texts where they are kept.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use rapidhash::v3::rapidhash_v3;

use crate::error::RecordFault;
use crate::text;

/// The most memory of kept key texts and their table, in bytes.
pub const KEY_TEXT_BYTES_MAX: usize = 4 << 30;

/// Overhead of a text in bytes: its slot in a table that has just grown, and its allocation.
const ENTRY_BYTES: usize = 72;

/// The id of a key: the number that its text is, or else a hash of the text.
///
/// A number must be written without leading zeros, so that different texts have different ids.
pub fn key_id(text: &[u8]) -> u64 {
    let has_leading_zero = text.len() > 1 && text[0] == b'0';
    let number = if has_leading_zero { None } else { text::number(text) };
    number.unwrap_or_else(|| rapidhash_v3(text))
}

/// The texts of keys by id.
#[derive(Debug, Default)]
pub struct KeyTable {
    texts: HashMap<u64, Box<[u8]>, IdHasher>,
    bytes: usize,
}

impl KeyTable {
    /// The text of the key `id`.
    pub fn text(&self, id: u64) -> Option<&[u8]> {
        self.texts.get(&id).map(AsRef::as_ref)
    }

    /// The number of keys seen.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether no key has been seen.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    pub(crate) fn keep(&mut self, id: u64, text: &[u8]) -> Result<(), RecordFault> {
        if let Some(known) = self.texts.get(&id) {
            let same = known.as_ref() == text;
            return if same { Ok(()) } else { Err("this key has the same 64-bit id as another".into()) };
        }
        self.bytes += text.len() + ENTRY_BYTES;
        if self.bytes > KEY_TEXT_BYTES_MAX {
            return Err(format!("the texts of the keys take more than {KEY_TEXT_BYTES_MAX} bytes").into());
        }
        self.texts.insert(id, text.into());
        Ok(())
    }
}

/// Converts texts to ids, and optionally keeps the texts.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    table: Option<KeyTable>,
}

impl Keys {
    pub(crate) fn new(keep: bool) -> Self {
        Self { table: keep.then(KeyTable::default) }
    }

    pub(crate) fn id(&mut self, text: &[u8]) -> Result<u64, RecordFault> {
        self.id_as(None, text)
    }

    /// The id of a key in one of several key spaces; in space 0 the plain id.
    pub(crate) fn id_in(&mut self, space: u32, text: &[u8]) -> Result<u64, RecordFault> {
        if space == 0 {
            return self.id(text);
        }
        self.id_as(Some(rapidhash_v3(&[&space.to_le_bytes()[..], text].concat())), text)
    }

    /// The given id of a key, or else that of its text.
    pub(crate) fn id_as(&mut self, id: Option<u64>, text: &[u8]) -> Result<u64, RecordFault> {
        let id = id.unwrap_or_else(|| key_id(text));
        if let Some(table) = &mut self.table {
            table.keep(id, text)?;
        }
        Ok(id)
    }

    pub(crate) fn table(&self) -> Option<&KeyTable> {
        self.table.as_ref()
    }
}

/// A hash that spreads ids, also sequential ones, over a table.
#[derive(Debug, Default, Clone, Copy)]
pub struct IdHash(u64);

/// Builds [`IdHash`].
pub type IdHasher = BuildHasherDefault<IdHash>;

impl Hasher for IdHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = rapidhash_v3(bytes) ^ self.0.rotate_left(5);
    }

    fn write_u64(&mut self, id: u64) {
        let product = u128::from(id ^ self.0 ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_their_own_ids_and_all_other_texts_are_hashed() {
        assert_eq!(key_id(b"0"), 0);
        assert_eq!(key_id(b"18446744073709551615"), u64::MAX);
        for text in [&b"007"[..], b"18446744073709551616", b"user1", b"", b"-1"] {
            assert_eq!(key_id(text), rapidhash_v3(text));
        }
    }

    #[test]
    fn texts_are_kept_only_when_wanted() {
        let mut keys = Keys::new(true);
        let id = keys.id(b"user1").unwrap();
        assert_eq!(keys.table().unwrap().text(id), Some(&b"user1"[..]));
        assert_eq!(keys.table().unwrap().len(), 1);
        let mut keys = Keys::new(false);
        keys.id(b"user1").unwrap();
        assert!(keys.table().is_none());
    }

    #[test]
    fn a_table_counts_what_its_entries_take() {
        let mut table = KeyTable { bytes: KEY_TEXT_BYTES_MAX - 2 * ENTRY_BYTES, ..KeyTable::default() };
        table.keep(1, b"").unwrap();
        table.keep(1, b"").unwrap();
        assert!(table.keep(2, b"b").unwrap_err().contains("bytes"));
        assert_eq!(table.len(), 1);
    }

    #[test]
    fn two_texts_of_one_id_are_distinguished() {
        let mut table = KeyTable::default();
        table.keep(1, b"1").unwrap();
        assert!(table.keep(1, b"other").is_err());
    }
}
