//! The formats that are read: the list, and how a trace's own is found.

use std::fs::File;
use std::path::Path;

use crate::error::TraceError;
use crate::read;
use crate::reader::{LineFormat, Sink, TraceReader};
use crate::source::{Bytes, Source};

/// How many bytes a format may look at to know its own.
const HEAD_BYTES: usize = 64 << 10;
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
    pub columns: Option<read::csv::Columns>,
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
pub(crate) type Opened = Result<Box<dyn TraceReader>, TraceError>;

/// One format that is read.
#[derive(Debug)]
pub struct Format {
    /// Its name, as `--input-format` takes it.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    pub(crate) recognise: fn(&Head) -> bool,
    pub(crate) open: fn(Source, &ReadOptions) -> Opened,
}

/// Every format, the ones that cannot be mistaken first.
pub static FORMATS: &[&Format] = &[
    &read::parquet::FORMAT,
    &read::lcs::FORMAT,
    &read::rocksdb::FORMAT,
    &read::fio_iolog::FORMAT,
    &read::redis_aof::FORMAT,
    &read::vscsi::FORMAT_1,
    &read::vscsi::FORMAT_2,
    &read::oracle_general::FORMAT,
    &read::cache2k::FORMAT,
    &read::blkreplay::FORMAT,
    &read::msr::FORMAT,
    &read::systor::FORMAT,
    &read::meta_block::FORMAT,
    &read::meta_kv::FORMAT,
    &read::spc::FORMAT,
    &read::redis_monitor::FORMAT,
    &read::memcached::FORMAT,
    &read::blkparse::FORMAT,
    &read::ibm_object_store::FORMAT,
    &read::rocksdb_text::FORMAT,
    &read::kv_replay::FORMAT,
    &read::arc::FORMAT,
    &read::adapt_size::FORMAT,
    &read::address::FORMAT,
    &read::twitter::FORMAT,
    &read::csv::FORMAT,
    &read::lirs::FORMAT,
    &read::keys::FORMAT,
];

impl Format {
    /// The format with this name.
    ///
    /// # Errors
    /// There is none; the text names those that there are.
    pub fn find(name: &str) -> Result<&'static Self, TraceError> {
        FORMATS
            .iter()
            .copied()
            .find(|format| format.name == name)
            .ok_or_else(|| TraceError::Wrong(format!("there is no format `{name}`: write one of {}", names())))
    }
}

fn names() -> String {
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    names.join(", ")
}

/// A trace that is open: its format and its records.
pub struct Trace {
    /// The format, as told or as found.
    pub format: &'static Format,
    /// The records.
    pub reader: Box<dyn TraceReader>,
}

/// Opens a trace in a file.
///
/// # Errors
/// There is no such file, or what is in it is of no known format.
pub fn open(path: &Path, options: &ReadOptions) -> Result<Trace, TraceError> {
    let failed = |error| TraceError::io(path.display().to_string(), error);
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(TraceError::Wrong(format!("{} is a folder: name the file of a trace", path.display())));
    }
    let again = if metadata.is_file() { Some(File::open(path).map_err(failed)?) } else { None };
    open_source(Source::new(Box::new(file), again).map_err(failed)?, options).map_err(|error| match error {
        TraceError::Unknown(what) => TraceError::Unknown(format!("{}: {what}", path.display())),
        other => other,
    })
}

/// Opens a trace that comes as a stream.
///
/// # Errors
/// The stream is of no known format, or of one that has to be read from a file.
pub fn open_stream(input: Bytes, options: &ReadOptions) -> Result<Trace, TraceError> {
    let source = Source::new(input, None).map_err(|error| TraceError::io("the stream of the trace", error))?;
    open_source(source, options)
}

fn open_source(mut source: Source, options: &ReadOptions) -> Result<Trace, TraceError> {
    let format = match options.format {
        Some(format) => format,
        None => recognise(&mut source, options)?,
    };
    check_options(format, options)?;
    Ok(Trace { format, reader: (format.open)(source, options)? })
}

/// The formats that leave the unit of times open.
const TIME_UNIT_TOLD: [&str; 3] = ["csv", "kv-replay", "adapt-size"];

/// That nothing was told that the format would pass over.
fn check_options(format: &Format, options: &ReadOptions) -> Result<(), TraceError> {
    let name = format.name;
    if options.time_unit_ns.is_some() && !TIME_UNIT_TOLD.contains(&name) {
        let those = "csv, kv-replay and adapt-size";
        let what = format!("a unit of times is told, and {name} has its own: leave it out; it is for {those}");
        return Err(TraceError::Wrong(what));
    }
    if options.columns.is_some() && name != read::csv::FORMAT.name {
        let what = format!("columns are told, and {name} has its own: leave them out; they are for csv");
        return Err(TraceError::Wrong(what));
    }
    Ok(())
}

fn recognise(source: &mut Source, options: &ReadOptions) -> Result<&'static Format, TraceError> {
    let bytes = source.want(HEAD_BYTES).len().min(HEAD_BYTES);
    let window = source.window();
    let mut head = Head { bytes: &window[..bytes], whole: window.len() < HEAD_BYTES, lenient: false };
    if head.bytes.is_empty() {
        let why = match source.failure() {
            Some(failure) => format!("it cannot be read or decompressed: {failure}"),
            None => "it is empty: a trace has at least one record; name the format of an empty one with --input-format"
                .to_owned(),
        };
        return Err(TraceError::Unknown(why));
    }
    if options.columns.is_some() {
        return Ok(&read::csv::FORMAT);
    }
    let strictly = FORMATS.iter().copied().find(|format| (format.recognise)(&head));
    head.lenient = true;
    // Nothing fits as a whole: then perhaps up to where the trace is damaged.
    let fitting = || FORMATS.iter().copied().find(|format| (format.recognise)(&head));
    strictly.or_else(fitting).ok_or_else(|| {
        let begin = crate::text::show(&head.bytes[..bytes.min(64)]);
        TraceError::Unknown(format!(
            "the content, which begins with {begin}, is of no known format: name it with --input-format ({})",
            names()
        ))
    })
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
