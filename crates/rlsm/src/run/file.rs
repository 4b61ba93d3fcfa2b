//! A data file: its name, its header, and reading from it within its bounds.

use std::io;
use std::sync::Arc;

use crate::codec::u32_at;
use crate::error::{Error, Result};
use crate::log::{LOG_HEADER_BYTES, LogKind, check_log_header};
use crate::names::FileName;
use crate::storage::{File, Storage};

pub(crate) const HEADER_BYTES: u64 = 16;
/// No run's bytes lie before this: the header of a log is the longer one.
pub(crate) const HEADER_BYTES_MAX: u64 = LOG_HEADER_BYTES as u64;
const MAGIC: &[u8; 8] = b"rlsmdata";
const FORMAT_VERSION: u32 = 1;

/// A stretch of a file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Extent {
    pub offset: u64,
    pub len: u64,
}

impl Extent {
    /// The first byte after it, if there is such a number.
    pub fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.len)
    }
}

/// A data file that is complete: it is only read from now on, but for dead extents, which are punched.
pub(crate) struct DataFile {
    pub number: u64,
    pub name: String,
    pub file: Arc<dyn File>,
    /// How long it is, in bytes.
    pub len: u64,
}

impl DataFile {
    /// Opens a data file, or a log with an index behind it, and checks its header.
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
        checked.map_err(|what| opened.corrupt(0, what))?;
        Ok(opened)
    }

    /// As [`DataFile::open`]; if the header is damaged, `refuse` is asked, and the file is open unless that is an error
    /// again: the header says nothing that footers do not.
    pub fn open_unless_refused(
        storage: &dyn Storage,
        name: FileName,
        refuse: &mut dyn FnMut(Error) -> Result<()>,
    ) -> Result<Self> {
        match Self::open(storage, name) {
            Err(error @ Error::Corrupt { .. }) => refuse(error).and_then(|()| Self::open_unchecked(storage, name)),
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
            io::ErrorKind::UnexpectedEof => self.corrupt(offset, format!("{} bytes end too early", buffer.len())),
            _ => Error::io("reading", &self.name)(error),
        })
    }

    /// Refuses what is not in the file, before room is made for it.
    pub fn check_bounds(&self, extent: Extent) -> Result<()> {
        if extent.end().is_some_and(|end| end <= self.len) {
            return Ok(());
        }
        let what = format!("{} bytes were expected from here on, but the file has {} in all", extent.len, self.len);
        Err(self.corrupt(extent.offset, what))
    }

    pub fn corrupt(&self, offset: u64, what: impl Into<String>) -> Error {
        Error::corrupt(&self.name, offset, what)
    }
}

/// What a data file begins with.
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
        return Err("this is no data file: it does not begin with `rlsmdata`".to_owned());
    }
    if crc32c::crc32c(&header[..12]).to_le_bytes() != header[12..] {
        return Err("the header's checksum is wrong".to_owned());
    }
    if header[8..12] != expected[8..12] {
        let version = u32_at(header, 8);
        return Err(format!("the format's version is {version}; this program reads version {FORMAT_VERSION}"));
    }
    Ok(())
}
