//! Trace writers, one per file.

use std::fs::File;
use std::path::Path;

use crate::details::RequestDetails;
use crate::error::TraceError;
use crate::reader::TraceReader;

pub use crate::dropped_fields::DroppedFields;
pub use crate::trace_batch::TraceBatch;

/// Writes records to a file.
pub trait TraceWriter {
    /// Writes records.
    ///
    /// # Errors
    /// The file cannot be written, or a record does not fit the format.
    fn write(&mut self, batch: &TraceBatch<'_>) -> Result<(), TraceError>;

    /// Whether the format holds what a trace records beyond records.
    fn holds_details(&self) -> bool {
        false
    }

    /// Completes the file. Returns what the format could not hold.
    ///
    /// # Errors
    /// The file cannot be written.
    fn finish(self: Box<Self>) -> Result<DroppedFields, TraceError>;
}

/// An output format.
#[derive(Debug)]
pub struct OutputFormat {
    /// Its name for `--output-format`.
    pub name: &'static str,
    /// A short description.
    pub about: &'static str,
    /// Usual extensions of its files.
    pub extensions: &'static [&'static str],
    pub(crate) create: fn(File) -> Result<Box<dyn TraceWriter>, TraceError>,
}

/// Declares the formats' modules and [`OUTPUT_FORMATS`].
macro_rules! output_formats {
    ($($module:ident;)+) => {
        $(pub(crate) mod $module;)+

        /// Every output format.
        pub static OUTPUT_FORMATS: &[&OutputFormat] = &[$(&$module::FORMAT,)+];
    };
}

// A new format is a file in this directory and a line here.
output_formats! {
    parquet;
    oracle_general;
    kv_replay;
    csv;
    fio_iolog;
}

impl OutputFormat {
    /// The format of this name.
    ///
    /// # Errors
    /// There is none; the text names those that exist.
    pub fn find(name: &str) -> Result<&'static Self, TraceError> {
        OUTPUT_FORMATS
            .iter()
            .copied()
            .find(|format| format.name == name)
            .ok_or_else(|| TraceError::Wrong(format!("there is no output format `{name}`: write one of {}", names())))
    }

    /// The format by the extension of `path`.
    ///
    /// # Errors
    /// No format has this extension.
    pub fn of_path(path: &Path) -> Result<&'static Self, TraceError> {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let fits = |format: &&&Self| format.extensions.iter().any(|extension| name.ends_with(extension));
        OUTPUT_FORMATS.iter().find(fits).copied().ok_or_else(|| {
            let shown = path.display();
            TraceError::Wrong(format!("the name of {shown} says no format: add --output-format, one of {}", names()))
        })
    }
}

/// The names of all output formats, separated by commas.
pub fn names() -> String {
    let names: Vec<&str> = OUTPUT_FORMATS.iter().map(|format| format.name).collect();
    names.join(", ")
}

/// Creates a trace file, which must not exist.
///
/// # Errors
/// It cannot be created.
pub fn create(path: &Path, format: &OutputFormat) -> Result<Box<dyn TraceWriter>, TraceError> {
    let options = File::options().read(true).write(true).create_new(true).open(path);
    let file = options.map_err(|error| TraceError::io(path.display().to_string(), error))?;
    (format.create)(file)
}

/// Copies all requests up to the damage of the trace, if any. Returns their number and the damage, and counts the details
/// that the format cannot hold in `losses`.
fn copy(
    reader: &mut dyn TraceReader,
    writer: &mut dyn TraceWriter,
    losses: &mut DroppedFields,
) -> Result<(u64, Option<TraceError>), TraceError> {
    let (mut requests, mut batch) = (0, Vec::new());
    loop {
        match reader.read(&mut batch) {
            Ok(0) => return Ok((requests, None)),
            Ok(read) => {
                let batch = TraceBatch { records: &batch, keys: reader.keys(), details: reader.details() };
                writer.write(&batch)?;
                if let Some(details) = batch.details.filter(|_| !writer.holds_details()) {
                    let none = RequestDetails::default();
                    (0..read).for_each(|at| losses.count_details(&details.of(at), &none));
                }
                requests += read as u64;
            }
            Err(damage @ TraceError::Damaged { .. }) => return Ok((requests, Some(damage))),
            Err(error) => return Err(error),
        }
    }
}

/// The counts of a written trace.
#[derive(Debug)]
pub struct WriteSummary {
    /// Requests written.
    pub requests: u64,
    /// The name of the format.
    pub format: &'static str,
    /// The fields that the format cannot hold.
    pub losses: DroppedFields,
    /// What the transforms of the trace could not carry.
    pub dropped: DroppedFields,
    /// The damage of the trace that was read, which ended the reading.
    pub damage: Option<TraceError>,
}

/// Writes the requests of `reader`, up to damage, to the new file `path` in the format of this name, or that of its extension.
///
/// # Errors
/// There is no such format, the file exists, or the trace cannot be read or written; an incomplete file is removed.
pub fn write_trace(
    reader: &mut dyn TraceReader,
    path: &Path,
    format: Option<&str>,
) -> Result<WriteSummary, TraceError> {
    let format = format.map_or_else(|| OutputFormat::of_path(path), OutputFormat::find)?;
    let mut writer = create(path, format)?;
    let mut losses = DroppedFields::default();
    let written = copy(reader, writer.as_mut(), &mut losses).and_then(|(requests, damage)| {
        losses.0.extend(writer.finish()?.0);
        Ok(WriteSummary { requests, format: format.name, losses, dropped: reader.dropped(), damage })
    });
    if written.is_err() {
        let _ = std::fs::remove_file(path);
    }
    written
}

/// A write error; the caller adds the file's name.
pub(crate) fn failed(error: std::io::Error) -> TraceError {
    TraceError::io("the new trace cannot be written", error)
}
