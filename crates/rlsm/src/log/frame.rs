//! Bytes of headers and records.

use std::ops::Range;

use crc32c::{crc32c, crc32c_append};

use crate::codec::{put_varint, u32_at, varint};
use crate::names::FileName;

pub(crate) const HEADER_BYTES: usize = 24;
pub(super) const CHECKSUM_BYTES: usize = 4;
const VERSION: u32 = 1;

/// The checksum of a record is turned over by this if all bytes before the record were durable when it was written.
///
/// An even number of its bits is set, which the difference that one wrong bit makes to a CRC-32C never has (its
/// polynomial is a multiple of x + 1): no flipped bit makes one kind of record the other.
pub(super) const SYNCED: u32 = 0x5359_4e43;

/// What a log is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogKind {
    Wal,
    Manifest,
}

impl LogKind {
    /// What the log of this number is called.
    pub fn name(self, number: u64) -> String {
        match self {
            Self::Wal => FileName::Wal(number).to_string(),
            Self::Manifest => FileName::Manifest(number).to_string(),
        }
    }

    fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::Wal => b"rlsm-wal",
            Self::Manifest => b"rlsmmani",
        }
    }
}

/// The header of a log.
pub(super) fn header(kind: LogKind, number: u64) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(kind.magic());
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..20].copy_from_slice(&number.to_le_bytes());
    let checksum = crc32c(&header[..20]);
    header[20..].copy_from_slice(&checksum.to_le_bytes());
    header
}

/// What the checksums of all records of a log begin with.
pub(super) fn salt(kind: LogKind, number: u64) -> u32 {
    u32_at(&header(kind, number), 20)
}

/// What is wrong with a header.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BadHeader {
    /// It is not whole.
    Broken(&'static str),
    /// It is whole, and of another file.
    OfAnother(String),
    /// It is whole, and of a format that is not known here.
    Unknown(String),
}

/// [`check_header`] for who reads no records.
pub(crate) fn check_log_header(bytes: &[u8], kind: LogKind, number: u64) -> Result<(), String> {
    check_header(bytes, kind, number).map_err(|bad| match bad {
        BadHeader::Broken(what) => what.to_owned(),
        BadHeader::OfAnother(what) | BadHeader::Unknown(what) => what,
    })
}

pub(super) fn check_header(bytes: &[u8], kind: LogKind, number: u64) -> Result<(), BadHeader> {
    let Some(header) = bytes.get(..HEADER_BYTES) else {
        return Err(BadHeader::Broken("the header is cut off"));
    };
    if crc32c(&header[..20]) != u32_at(header, 20) {
        return Err(BadHeader::Broken("the header's checksum is wrong"));
    }
    if header[..8] != *kind.magic() {
        let (got, expected) = (header[..8].escape_ascii(), kind.magic().escape_ascii());
        return Err(BadHeader::OfAnother(format!("it begins with `{got}`, not with `{expected}`")));
    }
    let version = u32_at(header, 8);
    if version != VERSION {
        return Err(BadHeader::Unknown(format!("its format's version is {version}; version {VERSION} can be read")));
    }
    if header[12..20] != number.to_le_bytes() {
        return Err(BadHeader::OfAnother("it holds the log of another number".to_owned()));
    }
    Ok(())
}

/// Appends a record to `buffer`.
pub(super) fn put(buffer: &mut Vec<u8>, salt: u32, payload: &[u8]) {
    let start = buffer.len();
    buffer.extend_from_slice(&[0; CHECKSUM_BYTES]);
    put_varint(buffer, payload.len() as u64);
    buffer.extend_from_slice(payload);
    let checksum = crc32c_append(salt, &buffer[start + CHECKSUM_BYTES..]);
    buffer[start..start + CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
}

/// Lets the record with which `records` begins tell that everything before it is durable.
pub(super) fn mark_synced(records: &mut [u8]) {
    let checksum = u32_at(records, 0) ^ SYNCED;
    records[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
}

/// Where the parts of a record lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    pub checksum: u32,
    /// The first byte that the checksum is of.
    pub start: usize,
    pub payload: usize,
    pub end: usize,
}

/// What a record that would begin at `at` consists of; nothing is checked but that it lies within `bytes`.
pub(super) fn frame(bytes: &[u8], at: usize) -> Result<Frame, &'static str> {
    const CUT_OFF: &str = "a record is cut off";
    let start = at + CHECKSUM_BYTES;
    let mut payload = start;
    let len = varint(bytes, &mut payload).map_err(|_| CUT_OFF)?;
    if len == 0 {
        return Err("a record is empty");
    }
    if len > (bytes.len() - payload) as u64 {
        return Err("a record is longer than the rest of the file");
    }
    Ok(Frame { checksum: u32_at(bytes, at), start, payload, end: payload + len as usize })
}

impl Frame {
    /// If the record is whole, whether everything before it was durable when it was written.
    pub fn check(&self, bytes: &[u8], salt: u32) -> Option<bool> {
        is_synced(crc32c_append(salt, &bytes[self.start..self.end]) ^ self.checksum)
    }
}

/// Where the payload of the record lies that all of `bytes` are.
pub(crate) fn payload_of(kind: LogKind, number: u64, bytes: &[u8]) -> Result<Range<usize>, &'static str> {
    let frame = frame(bytes, 0)?;
    match frame.check(bytes, salt(kind, number)) {
        Some(_) if frame.end == bytes.len() => Ok(frame.payload..frame.end),
        Some(_) => Err("the record is shorter than its index says"),
        None => Err("the record's checksum is wrong"),
    }
}

/// What the difference of a record's checksum from that of its bytes says, if it is a record.
pub(super) fn is_synced(difference: u32) -> Option<bool> {
    match difference {
        0 => Some(false),
        SYNCED => Some(true),
        _ => None,
    }
}
