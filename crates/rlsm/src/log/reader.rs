//! Reading a log.

use super::frame::{self, HEADER_BYTES, HeaderError, LogKind, RecordFrame};
use super::search::{TrailingRecords, trailing_records};
use crate::error::{Error, Result};
use crate::storage::Storage;

/// Reads the records of a log, which it holds in memory.
pub(crate) struct LogReader {
    bytes: Vec<u8>,
    salt: u32,
    at: usize,
    /// Whether a record was read before which everything was durable.
    saw_synced: bool,
    /// Why there is no record at `at`.
    problem: Option<&'static str>,
}

/// A record of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogRecord<'a> {
    /// Its offset in the file.
    pub offset: u64,
    /// Its length in the file.
    pub len: u64,
    pub payload: &'a [u8],
}

/// What follows the last whole record of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LogEnd {
    /// Nothing.
    Clean,
    /// A record that is not whole, and no whole one after it: a crash cut off the write.
    Torn { offset: u64, problem: &'static str },
    /// A record that is not whole, and whole ones after it.
    Damaged {
        offset: u64,
        problem: &'static str,
        /// Whether everything before one of these was durable when it was written, so that no crash did this. If not, a
        /// crash may have kept later bytes and lost earlier ones, none of them synced.
        was_synced: bool,
    },
}

impl LogReader {
    /// Opens and reads a log. An invalid header, or a WAL's header of another file, is not an error: the log ends with
    /// it.
    pub fn open(storage: &dyn Storage, kind: LogKind, number: u64) -> Result<Self> {
        let name = kind.name(number);
        let file = storage.open(&name).map_err(Error::io("opening", &name))?;
        let len = file.len().map_err(Error::io("reading the length of", &name))?;
        let len = usize::try_from(len).map_err(|_| Error::corrupt(&name, 0, "it is larger than the address space"))?;
        let mut bytes = vec![0; len];
        file.read_at(&mut bytes, 0).map_err(Error::io("reading", &name))?;
        Self::of(bytes, kind, number)
    }

    /// Reads a log from memory.
    pub fn of(bytes: Vec<u8>, kind: LogKind, number: u64) -> Result<Self> {
        let (at, problem) = match frame::check_header(&bytes, kind, number) {
            Ok(()) => (HEADER_BYTES, None),
            Err(HeaderError::Invalid(problem)) => (0, Some(problem)),
            // A WAL has its name and length before its header is durable. Where the file system does not write data
            // before those, a crash leaves what the WAL's blocks held before.
            Err(HeaderError::ForeignFile(_)) if kind == LogKind::Wal => (0, Some("the header belongs to another file")),
            Err(HeaderError::ForeignFile(problem) | HeaderError::UnsupportedVersion(problem)) => {
                return Err(Error::corrupt(&kind.name(number), 0, problem));
            }
        };
        Ok(Self { bytes, salt: frame::salt(kind, number), at, saw_synced: false, problem })
    }

    /// The next record; `None` at the end of the log.
    pub fn next(&mut self) -> Option<LogRecord<'_>> {
        let RecordFrame { payload, end, .. } = self.whole_frame()?;
        let offset = self.at as u64;
        self.at = end;
        Some(LogRecord { offset, len: end as u64 - offset, payload: &self.bytes[payload..end] })
    }

    fn whole_frame(&mut self) -> Option<RecordFrame> {
        if self.problem.is_some() || self.at == self.bytes.len() {
            return None;
        }
        let checked = frame::frame(&self.bytes, self.at).and_then(|frame| {
            let was_synced = frame.check(&self.bytes, self.salt).ok_or("a record's checksum is wrong")?;
            self.saw_synced |= was_synced;
            Ok(frame)
        });
        checked.map_err(|problem| self.problem = Some(problem)).ok()
    }

    /// Whether a record was read before which everything was durable, earlier logs included.
    pub fn saw_synced(&self) -> bool {
        self.saw_synced
    }

    /// The end of the last record that was read.
    pub fn offset(&self) -> u64 {
        self.at as u64
    }

    /// The length of the file.
    pub fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// How the log ends, after skipping the records that are not read yet.
    pub fn end(&mut self) -> LogEnd {
        while self.next().is_some() {}
        let Some(problem) = self.problem else {
            return LogEnd::Clean;
        };
        let offset = self.at as u64;
        match self.trailing_records() {
            TrailingRecords::Nothing => LogEnd::Torn { offset, problem },
            TrailingRecords::Unsynced => LogEnd::Damaged { offset, problem, was_synced: false },
            TrailingRecords::Synced => LogEnd::Damaged { offset, problem, was_synced: true },
        }
    }

    /// The records after the one that is not whole: first from where its length says that it ends, which is found
    /// quickly even if it is large.
    fn trailing_records(&self) -> TrailingRecords {
        let end = frame::frame(&self.bytes, self.at).map_or(self.bytes.len(), |frame| frame.end);
        match trailing_records(&self.bytes, self.salt, end) {
            TrailingRecords::Synced => TrailingRecords::Synced,
            _ => trailing_records(&self.bytes, self.salt, self.at + 1),
        }
    }
}
