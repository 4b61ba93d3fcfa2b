//! What a format that is read has: its entry in the registry, and the begin of a trace that it is recognised by.

use crate::csv_columns::Columns;
use crate::error::TraceError;
use crate::reader::{LineFormat, Sink, TraceReader};
use crate::source::Source;

/// How many lines have to fit.
const HEAD_LINES: usize = 64;

/// How many lines have to be good before one that is damaged.
const LENIENT_LINES: usize = 3;

/// How a trace is to be read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The format, where the content is not to decide.
    pub format: Option<&'static Format>,
    /// What the columns of a CSV file mean, where neither a header nor a preset says it.
    pub columns: Option<Columns>,
    /// The unit of times, in nanoseconds; only for formats that leave it open.
    pub time_unit_ns: Option<u64>,
    /// Keep the texts of keys, so that they can be shown and written again.
    pub keep_keys: bool,
}

/// The nanoseconds of a unit of time, by its name.
///
/// # Errors
/// There is none of this name; the text names those that there are.
pub fn time_unit_ns(name: &str) -> Result<u64, TraceError> {
    match name {
        "s" => Ok(1_000_000_000),
        "ms" => Ok(1_000_000),
        "us" => Ok(1_000),
        "ns" => Ok(1),
        _ => Err(TraceError::Wrong(format!("the unit of times is `{name}`: write s, ms, us or ns"))),
    }
}

/// A reader, or why there is none.
pub(crate) type OpenResult = Result<Box<dyn TraceReader>, TraceError>;

/// A setting of [`ReadOptions`] that only some formats leave open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormatSetting {
    /// The unit of times.
    TimeUnit,
    /// What the columns mean.
    Columns,
}

/// One format that is read.
#[derive(Debug)]
pub struct Format {
    /// Its name, as `--input-format` takes it.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// The settings that it leaves open; all others are refused.
    pub settings: &'static [FormatSetting],
    pub(crate) recognise: fn(&Head) -> bool,
    pub(crate) open: fn(Source, &ReadOptions) -> OpenResult,
}

/// The begin of a trace.
pub(crate) struct Head<'a> {
    /// The first bytes.
    pub(crate) bytes: &'a [u8],
    /// Whether that is all.
    pub(crate) whole: bool,
    /// Whether it may be damaged after some good lines.
    pub(crate) lenient: bool,
}

impl Head<'_> {
    /// The whole lines at the begin.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let end = match self.whole {
            true => self.bytes.len(),
            false => memchr::memrchr(b'\n', self.bytes).unwrap_or(0),
        };
        let lines = self.bytes[..end].split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        lines.take(HEAD_LINES)
    }

    /// Whether every line makes sense as this format, and at least one holds a record. The last line of a whole trace
    /// may be cut.
    pub(crate) fn fits(&self, mut format: impl LineFormat) -> bool {
        let lines: Vec<&[u8]> = self.lines().collect();
        let mut records = 0;
        for (number, line) in lines.iter().enumerate() {
            let mut sink = Sink::default();
            if format.line(line, &mut sink).is_err() {
                let cut = self.whole && number + 1 == lines.len() && !line.is_empty();
                return records > 0 && cut || self.lenient && records >= LENIENT_LINES;
            }
            records += usize::from(sink.has_records());
        }
        records > 0
    }

    /// Whether it holds bytes that no text has.
    pub(crate) fn is_binary(&self) -> bool {
        memchr::memchr(0, self.bytes).is_some()
    }
}
