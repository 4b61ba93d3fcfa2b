//! Trace formats: their entry in the registry, and recognition by the start of a trace.

use crate::csv_columns::Columns;
use crate::details::Kept;
use crate::error::TraceError;
use crate::reader::{LineFormat, RecordSink, TraceReader};
use crate::source::Source;

/// The number of lines that must fit a format.
const HEAD_LINES: usize = 64;

/// The number of good lines before a damaged one.
const LENIENT_LINES: usize = 3;

/// Options for reading a trace.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The format; `None` recognises it by the content.
    pub format: Option<&'static Format>,
    /// The columns of a CSV file without a header or preset.
    pub columns: Option<Columns>,
    /// The unit of times in nanoseconds, for formats that do not define it.
    pub time_unit_ns: Option<u64>,
    /// Whether to keep the keys' texts, to show and write them.
    pub keep_keys: bool,
    /// Whether to keep, for one batch at a time, what records do not hold ([`TraceReader::details`]).
    pub keep_details: bool,
}

impl ReadOptions {
    /// What to keep beyond records.
    pub(crate) fn kept(&self) -> Kept {
        Kept { keys: self.keep_keys, details: self.keep_details }
    }
}

/// The nanoseconds of a unit of time.
///
/// # Errors
/// There is no unit of this name; the text names those that exist.
pub fn time_unit_ns(name: &str) -> Result<u64, TraceError> {
    match name {
        "s" => Ok(1_000_000_000),
        "ms" => Ok(1_000_000),
        "us" => Ok(1_000),
        "ns" => Ok(1),
        _ => Err(TraceError::Wrong(format!("the unit of times is `{name}`: write s, ms, us or ns"))),
    }
}

/// A reader, or the reason why there is none.
pub(crate) type OpenResult = Result<Box<dyn TraceReader>, TraceError>;

/// A setting of [`ReadOptions`] that only some formats use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormatSetting {
    /// The unit of times.
    TimeUnit,
    /// The columns.
    Columns,
}

/// An input format.
#[derive(Debug)]
pub struct Format {
    /// Its name for `--input-format`.
    pub name: &'static str,
    /// A short description.
    pub about: &'static str,
    /// The settings it uses; all others are refused.
    pub settings: &'static [FormatSetting],
    pub(crate) recognise: fn(&Head) -> bool,
    pub(crate) open: fn(Source, &ReadOptions) -> OpenResult,
}

/// The start of a trace.
pub(crate) struct Head<'a> {
    /// The first bytes.
    pub(crate) bytes: &'a [u8],
    /// Whether these are all bytes of the trace.
    pub(crate) whole: bool,
    /// Whether it may be damaged after some good lines.
    pub(crate) lenient: bool,
}

impl Head<'_> {
    /// The complete lines at the start.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let end = match self.whole {
            true => self.bytes.len(),
            false => memchr::memrchr(b'\n', self.bytes).unwrap_or(0),
        };
        let lines = self.bytes[..end].split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        lines.take(HEAD_LINES)
    }

    /// Whether every line fits the format, and at least one holds a record. The last line of a complete trace may be
    /// cut.
    pub(crate) fn fits(&self, mut format: impl LineFormat) -> bool {
        let lines: Vec<&[u8]> = self.lines().collect();
        let mut records = 0;
        for (number, line) in lines.iter().enumerate() {
            let mut sink = RecordSink::default();
            if format.line(line, &mut sink).is_err() {
                let cut = self.whole && number + 1 == lines.len() && !line.is_empty();
                return records > 0 && cut || self.lenient && records >= LENIENT_LINES;
            }
            records += usize::from(sink.has_records());
        }
        records > 0
    }

    /// Whether it holds bytes that do not occur in text.
    pub(crate) fn is_binary(&self) -> bool {
        memchr::memchr(0, self.bytes).is_some()
    }
}
