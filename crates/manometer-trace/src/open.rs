//! Opens a trace, recognising its format by the content unless it is given.

use std::fs::File;
use std::path::Path;

use crate::error::TraceError;
use crate::format::{Format, FormatSetting, Head, ReadOptions};
use crate::read::{FORMATS, csv, names};
use crate::reader::TraceReader;
use crate::source::{Bytes, Source};

/// The number of bytes for recognising a format.
const HEAD_BYTES: usize = 64 << 10;

/// An open trace: its format and its records.
pub struct Trace {
    /// The format, as given or as recognised.
    pub format: &'static Format,
    /// The records.
    pub reader: Box<dyn TraceReader>,
}

/// Opens a trace in a file.
///
/// # Errors
/// The file cannot be opened, or its format is unknown.
pub fn open(path: &Path, options: &ReadOptions) -> Result<Trace, TraceError> {
    let failed = |error| TraceError::io(path.display().to_string(), error);
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(TraceError::Wrong(format!("{} is a directory: name the file of a trace", path.display())));
    }
    let second_handle = if metadata.is_file() { Some(File::open(path).map_err(failed)?) } else { None };
    open_source(Source::new(Box::new(file), second_handle).map_err(failed)?, options).map_err(|error| match error {
        TraceError::Unknown(what) => TraceError::Unknown(format!("{}: {what}", path.display())),
        other => other,
    })
}

/// Opens a trace from a stream.
///
/// # Errors
/// The format is unknown, or can be read from a file only.
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

/// Refuses options that the format would ignore.
fn check_options(format: &Format, options: &ReadOptions) -> Result<(), TraceError> {
    let name = format.name;
    let open = |setting| format.settings.contains(&setting);
    if options.time_unit_ns.is_some() && !open(FormatSetting::TimeUnit) {
        let what = format!(
            "a time unit is given, and {name} has its own: leave it out; it is for {}",
            names_with(FormatSetting::TimeUnit)
        );
        return Err(TraceError::Wrong(what));
    }
    if options.columns.is_some() && !open(FormatSetting::Columns) {
        let what = format!(
            "columns are given, and {name} has its own: leave them out; they are for {}",
            names_with(FormatSetting::Columns)
        );
        return Err(TraceError::Wrong(what));
    }
    Ok(())
}

/// The names of the formats that use `setting`.
fn names_with(setting: FormatSetting) -> String {
    let formats = FORMATS.iter().filter(|format| format.settings.contains(&setting));
    formats.map(|format| format.name).collect::<Vec<_>>().join(", ")
}

fn recognise(source: &mut Source, options: &ReadOptions) -> Result<&'static Format, TraceError> {
    let bytes = source.fill_to(HEAD_BYTES).len().min(HEAD_BYTES);
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
        return Ok(&csv::FORMAT);
    }
    let strictly = FORMATS.iter().copied().find(|format| (format.recognise)(&head));
    head.lenient = true;
    // No format fits completely: perhaps one does up to the damage.
    let fitting = || FORMATS.iter().copied().find(|format| (format.recognise)(&head));
    strictly.or_else(fitting).ok_or_else(|| {
        let begin = crate::text::show(&head.bytes[..bytes.min(64)]);
        TraceError::Unknown(format!(
            "the content, which begins with {begin}, is of no known format: name it with --input-format ({})",
            names()
        ))
    })
}
