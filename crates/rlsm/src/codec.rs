//! Numbers and byte strings in records.

use crate::{Error, Result};

/// Seven bits a byte, the lowest first; a set highest bit says that more follow.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The length, then the bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads what the functions above wrote, and says where it could not.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    file: &'a str,
    /// Of the first byte after `rest`.
    end: u64,
}

impl<'a> Reader<'a> {
    /// Over `bytes`, which begin at `offset` of `file`.
    pub fn new(bytes: &'a [u8], file: &'a str, offset: u64) -> Self {
        Self { rest: bytes, file, end: offset + bytes.len() as u64 }
    }

    pub fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for (index, &byte) in self.rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f).checked_shl(7 * index as u32).unwrap_or(0);
            if byte < 0x80 {
                self.rest = &self.rest[index + 1..];
                return Ok(value);
            }
        }
        Err(self.corrupt("a number that does not end"))
    }

    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let len = self.varint()?;
        match usize::try_from(len).ok().and_then(|len| self.rest.split_at_checked(len)) {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(bytes)
            }
            None => Err(self.corrupt(&format!("{len} bytes announced, {} there", self.rest.len()))),
        }
    }

    /// A count, then so many items.
    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count = self.varint()?;
        if count > self.rest.len() as u64 {
            return Err(self.corrupt(&format!("{count} items announced in {} bytes", self.rest.len())));
        }
        (0..count).map(|_| item(self)).collect()
    }

    /// Whether all was read.
    pub fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn finish(self) -> Result<()> {
        if self.is_done() { Ok(()) } else { Err(self.corrupt("more bytes than the record has items")) }
    }

    pub fn corrupt(&self, what: &str) -> Error {
        Error::corrupt(self.file, self.end - self.rest.len() as u64, what)
    }
}
