//! The encoding of log headers and records.

use std::ops::Range;

use crc32c::{crc32c, crc32c_append};

use crate::codec::{put_varint, u32_at, varint};
use crate::file_name::FileName;

pub(crate) const HEADER_BYTES: usize = 24;
pub(super) const CHECKSUM_BYTES: usize = 4;
const VERSION: u32 = 1;

/// XORed into the checksum of a record if all bytes before the record were durable when it was written.
///
/// An even number of its bits is set. A single flipped bit changes a CRC-32C by an odd number of bits, since the
/// polynomial is a multiple of x + 1: so no flipped bit turns one kind of record into the other.
pub(super) const SYNCED: u32 = 0x5359_4e43;

/// The kind of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogKind {
    Wal,
    Manifest,
}

impl LogKind {
    /// The file name of the log with this number.
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

/// The initial value of the checksums of all records of a log.
pub(super) fn salt(kind: LogKind, number: u64) -> u32 {
    u32_at(&header(kind, number), 20)
}

/// What is wrong with a header.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HeaderError {
    /// It is cut off, or its checksum does not match.
    Invalid(&'static str),
    /// It is valid, and belongs to another file.
    ForeignFile(String),
    /// It is valid, of an unknown format version.
    UnsupportedVersion(String),
}

/// [`check_header`], with the problem as text.
pub(crate) fn check_log_header(bytes: &[u8], kind: LogKind, number: u64) -> Result<(), String> {
    check_header(bytes, kind, number).map_err(|bad| match bad {
        HeaderError::Invalid(problem) => problem.to_owned(),
        HeaderError::ForeignFile(problem) | HeaderError::UnsupportedVersion(problem) => problem,
    })
}

pub(super) fn check_header(bytes: &[u8], kind: LogKind, number: u64) -> Result<(), HeaderError> {
    let Some(header) = bytes.get(..HEADER_BYTES) else {
        return Err(HeaderError::Invalid("the header is cut off"));
    };
    if crc32c(&header[..20]) != u32_at(header, 20) {
        return Err(HeaderError::Invalid("the header's checksum is wrong"));
    }
    if header[..8] != *kind.magic() {
        let (got, expected) = (header[..8].escape_ascii(), kind.magic().escape_ascii());
        return Err(HeaderError::ForeignFile(format!("it begins with `{got}`, expected `{expected}`")));
    }
    let version = u32_at(header, 8);
    if version != VERSION {
        return Err(HeaderError::UnsupportedVersion(format!(
            "its format version is {version}; this version of rlsm reads version {VERSION}"
        )));
    }
    if header[12..20] != number.to_le_bytes() {
        return Err(HeaderError::ForeignFile("it is the log with another number".to_owned()));
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

/// Marks the record at the start of `records`: everything before it is durable.
pub(super) fn mark_synced(records: &mut [u8]) {
    let checksum = u32_at(records, 0) ^ SYNCED;
    records[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
}

/// The layout of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordFrame {
    pub checksum: u32,
    /// Where the bytes that the checksum covers begin.
    pub start: usize,
    pub payload: usize,
    pub end: usize,
}

/// Parses the record at `at`. Only its length is checked, against that of `bytes`.
pub(super) fn frame(bytes: &[u8], at: usize) -> Result<RecordFrame, &'static str> {
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
    Ok(RecordFrame { checksum: u32_at(bytes, at), start, payload, end: payload + len as usize })
}

impl RecordFrame {
    /// Checks the checksum. Returns whether everything before the record was durable when it was written; `None` if the
    /// record is invalid.
    pub fn check(&self, bytes: &[u8], salt: u32) -> Option<bool> {
        is_synced(crc32c_append(salt, &bytes[self.start..self.end]) ^ self.checksum)
    }
}

/// Where the payload is in the single record `bytes`.
pub(crate) fn payload_of(kind: LogKind, number: u64, bytes: &[u8]) -> Result<Range<usize>, &'static str> {
    let frame = frame(bytes, 0)?;
    match frame.check(bytes, salt(kind, number)) {
        Some(_) if frame.end == bytes.len() => Ok(frame.payload..frame.end),
        Some(_) => Err("the record is shorter than the index says"),
        None => Err("the record's checksum is wrong"),
    }
}

/// What the XOR of the stored and the computed checksum means; `None` if the record is invalid.
pub(super) fn is_synced(difference: u32) -> Option<bool> {
    match difference {
        0 => Some(false),
        SYNCED => Some(true),
        _ => None,
    }
}
