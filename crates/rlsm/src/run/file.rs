//! Files of runs: header checks, and reads within bounds.

use std::io;
use std::sync::Arc;

use crate::codec::u32_at;
use crate::error::{Error, Result};
use crate::file_name::FileName;
use crate::log::{LOG_HEADER_BYTES, LogKind, check_log_header};
use crate::storage::{File, Storage};

pub(crate) const HEADER_BYTES: u64 = 16;
/// The longest header of a file with runs: that of a WAL.
pub(crate) const HEADER_BYTES_MAX: u64 = LOG_HEADER_BYTES as u64;
const MAGIC: &[u8; 8] = b"rlsmdata";
const FORMAT_VERSION: u32 = 1;

/// A contiguous part of a file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Extent {
    pub offset: u64,
    pub len: u64,
}

impl Extent {
    /// The offset after it; `None` if that overflows.
    pub fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.len)
    }
}

/// A complete file of runs. It is only read from now on, except that holes are punched where runs are obsolete.
pub(crate) struct DataFile {
    pub number: u64,
    pub name: String,
    pub file: Arc<dyn File>,
    /// The length of the file.
    pub len: u64,
}

impl DataFile {
    /// Opens a data file, or a WAL with an index, and checks its header.
    pub fn open(storage: &dyn Storage, name: FileName) -> Result<Self> {
        let opened = Self::open_unchecked(storage, name)?;
        let checked = if let FileName::Wal(number) = name {
            let mut header = [0; LOG_HEADER_BYTES];
            opened.read(&mut header, 0)?;
            check_log_header(&header, LogKind::Wal, number)
        } else {
            let mut header = [0; HEADER_BYTES as usize];
            opened.read(&mut header, 0)?;
            check_header(&header)
        };
        checked.map_err(|problem| opened.corrupt(0, problem))?;
        Ok(opened)
    }

    /// As [`DataFile::open`]; if the header is damaged, `on_error` decides: unless it fails, the file is opened
    /// nevertheless. The header has no information that footers need.
    pub fn open_tolerant(
        storage: &dyn Storage,
        name: FileName,
        on_error: &mut dyn FnMut(Error) -> Result<()>,
    ) -> Result<Self> {
        match Self::open(storage, name) {
            Err(error @ Error::Corrupt { .. }) => on_error(error).and_then(|()| Self::open_unchecked(storage, name)),
            opened => opened,
        }
    }

    fn open_unchecked(storage: &dyn Storage, name: FileName) -> Result<Self> {
        let (number, name) = (name.number(), name.to_string());
        let file = storage.open(&name).map_err(Error::io("opening", &name))?;
        let len = file.len().map_err(Error::io("reading the length of", &name))?;
        Ok(Self { number, name, file, len })
    }

    /// Fills `buffer` from `offset` on.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        self.check_bounds(Extent { offset, len: buffer.len() as u64 })?;
        self.file.read_at(buffer, offset).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                self.corrupt(offset, format!("{} bytes were expected here, but the file ends before", buffer.len()))
            }
            _ => Error::io("reading", &self.name)(error),
        })
    }

    /// Fails if the extent exceeds the file, before memory is allocated for it.
    pub fn check_bounds(&self, extent: Extent) -> Result<()> {
        if extent.end().is_some_and(|end| end <= self.len) {
            return Ok(());
        }
        let problem = format!("{} bytes were expected here, but the file has only {}", extent.len, self.len);
        Err(self.corrupt(extent.offset, problem))
    }

    pub fn corrupt(&self, offset: u64, problem: impl Into<String>) -> Error {
        Error::corrupt(&self.name, offset, problem)
    }
}

/// The header of a data file.
pub(crate) fn header() -> [u8; HEADER_BYTES as usize] {
    let mut header = [0; HEADER_BYTES as usize];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    let checksum = crc32c::crc32c(&header[..12]);
    header[12..].copy_from_slice(&checksum.to_le_bytes());
    header
}

fn check_header(header: &[u8; HEADER_BYTES as usize]) -> std::result::Result<(), String> {
    let expected = self::header();
    if header[..8] != expected[..8] {
        return Err("this is not a data file: it does not begin with `rlsmdata`".to_owned());
    }
    if crc32c::crc32c(&header[..12]).to_le_bytes() != header[12..] {
        return Err("the header's checksum is wrong".to_owned());
    }
    if header[8..12] != expected[8..12] {
        let version = u32_at(header, 8);
        return Err(format!("the format version is {version}; this version of rlsm reads version {FORMAT_VERSION}"));
    }
    Ok(())
}
