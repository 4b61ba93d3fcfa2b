//! Reads the records of a log.

use super::frame::{self, BadHeader, Frame, HEADER_BYTES, LogKind};
use super::search::{Behind, behind};
use crate::error::{Error, Result};
use crate::storage::Storage;

/// Reads the records of a log, which is in memory as a whole meanwhile.
pub(crate) struct LogReader {
    bytes: Vec<u8>,
    salt: u32,
    at: usize,
    /// Whether a record that was read tells that everything before it was durable.
    saw_synced: bool,
    /// What is wrong at `at`.
    problem: Option<&'static str>,
}

/// One record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    /// Where in the file it begins.
    pub offset: u64,
    /// How many bytes of the file it takes.
    pub len: u64,
    pub payload: &'a [u8],
}

/// How a log ends behind its last whole record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// There is nothing more.
    Clean,
    /// What follows is no record, nor is there one behind it: a crash came before it was written as a whole.
    Torn { offset: u64, what: &'static str },
    /// What follows is no record, but there are whole ones behind it.
    Damaged {
        offset: u64,
        what: &'static str,
        /// Whether a record behind it tells that everything before it was durable, so that this is no crash's work. If
        /// not, a crash may have kept what was written later and lost what was written before, none of it synced.
        was_synced: bool,
    },
}

impl LogReader {
    /// Reads a log. A header that is not whole, or of a write-ahead log not its own, is no error: the log ends with it.
    pub fn open(storage: &dyn Storage, kind: LogKind, number: u64) -> Result<Self> {
        let name = kind.name(number);
        let file = storage.open(&name).map_err(Error::io("opening", &name))?;
        let len = file.len().map_err(Error::io("reading the length of", &name))?;
        let len = usize::try_from(len).map_err(|_| Error::corrupt(&name, 0, "it is larger than the memory can be"))?;
        let mut bytes = vec![0; len];
        file.read_at(&mut bytes, 0).map_err(Error::io("reading", &name))?;
        Self::of(bytes, kind, number)
    }

    /// Reads a log that is in memory.
    pub fn of(bytes: Vec<u8>, kind: LogKind, number: u64) -> Result<Self> {
        let (at, problem) = match frame::check_header(&bytes, kind, number) {
            Ok(()) => (HEADER_BYTES, None),
            Err(BadHeader::Broken(problem)) => (0, Some(problem)),
            // A write-ahead log has its name and its length before its header is durable: where the file system does
            // not write data before those, a crash leaves what the log's blocks held before.
            Err(BadHeader::OfAnother(_)) if kind == LogKind::Wal => (0, Some("the header is that of another file")),
            Err(BadHeader::OfAnother(what) | BadHeader::Unknown(what)) => {
                return Err(Error::corrupt(&kind.name(number), 0, what));
            }
        };
        Ok(Self { bytes, salt: frame::salt(kind, number), at, saw_synced: false, problem })
    }

    /// The next record, if the log does not end here.
    pub fn next(&mut self) -> Option<Record<'_>> {
        let Frame { payload, end, .. } = self.whole_frame()?;
        let offset = self.at as u64;
        self.at = end;
        Some(Record { offset, len: end as u64 - offset, payload: &self.bytes[payload..end] })
    }

    fn whole_frame(&mut self) -> Option<Frame> {
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

    /// Whether one of the records that were read tells that everything before it was durable, other logs included.
    pub fn saw_synced(&self) -> bool {
        self.saw_synced
    }

    /// Where the last record that was read ends: what a [`super::LogWriter`] can go on from.
    pub fn offset(&self) -> u64 {
        self.at as u64
    }

    /// How long the file is, in bytes.
    pub fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// How the log ends; what was not read yet is passed over.
    pub fn end(&mut self) -> End {
        while self.next().is_some() {}
        let Some(what) = self.problem else {
            return End::Clean;
        };
        let offset = self.at as u64;
        match self.behind() {
            Behind::Nothing => End::Torn { offset, what },
            Behind::Unsynced => End::Damaged { offset, what, was_synced: false },
            Behind::Synced => End::Damaged { offset, what, was_synced: true },
        }
    }

    /// What is behind the record that is no record: first where its length says that it ends, since that is found soon
    /// however large it is.
    fn behind(&self) -> Behind {
        let end = frame::frame(&self.bytes, self.at).map_or(self.bytes.len(), |frame| frame.end);
        match behind(&self.bytes, self.salt, end) {
            Behind::Synced => Behind::Synced,
            _ => behind(&self.bytes, self.salt, self.at + 1),
        }
    }
}
