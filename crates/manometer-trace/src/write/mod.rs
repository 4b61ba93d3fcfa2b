//! One writer in each file, all of one shape.

pub(crate) mod csv;
pub(crate) mod fio_iolog;
pub(crate) mod kv_replay;
pub(crate) mod oracle_general;
pub(crate) mod parquet;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use crate::error::TraceError;
use crate::key::KeyTable;
use crate::reader::TraceReader;
use crate::record::Record;

/// Takes records, and makes a file of them.
pub trait TraceWriter {
    /// Writes records. `keys` has the texts of their keys, where they are to be written.
    ///
    /// # Errors
    /// The file cannot be written, or a record does not fit the format.
    fn write(&mut self, records: &[Record], keys: Option<&KeyTable>) -> Result<(), TraceError>;

    /// Ends the file, and returns what the format could not hold.
    ///
    /// # Errors
    /// The file cannot be written.
    fn finish(self: Box<Self>) -> Result<Losses, TraceError>;
}

/// What a format could not hold: what, and of how many records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses(pub BTreeMap<&'static str, u64>);

impl Losses {
    /// Counts a loss where there is one.
    pub(crate) fn count(&mut self, lost: bool, what: &'static str) {
        if lost {
            *self.0.entry(what).or_default() += 1;
        }
    }
}

/// One format that is written.
#[derive(Debug)]
pub struct OutputFormat {
    /// Its name, as `--output-format` takes it.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// What its files are usually called at the end.
    pub extensions: &'static [&'static str],
    pub(crate) create: fn(File) -> Result<Box<dyn TraceWriter>, TraceError>,
}

/// Every format that is written.
pub static OUTPUT_FORMATS: &[&OutputFormat] =
    &[&parquet::FORMAT, &oracle_general::FORMAT, &kv_replay::FORMAT, &csv::FORMAT, &fio_iolog::FORMAT];

impl OutputFormat {
    /// The format of this name.
    ///
    /// # Errors
    /// There is none; the text names those that there are.
    pub fn find(name: &str) -> Result<&'static Self, TraceError> {
        OUTPUT_FORMATS
            .iter()
            .copied()
            .find(|format| format.name == name)
            .ok_or_else(|| TraceError::Wrong(format!("there is no output format `{name}`: write one of {}", names())))
    }

    /// The format that a file of this name usually has.
    ///
    /// # Errors
    /// There is none.
    pub fn of_path(path: &Path) -> Result<&'static Self, TraceError> {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let fits = |format: &&&Self| format.extensions.iter().any(|extension| name.ends_with(extension));
        OUTPUT_FORMATS.iter().find(fits).copied().ok_or_else(|| {
            let shown = path.display();
            TraceError::Wrong(format!("the name of {shown} says no format: add --output-format, one of {}", names()))
        })
    }
}

fn names() -> String {
    let names: Vec<&str> = OUTPUT_FORMATS.iter().map(|format| format.name).collect();
    names.join(", ")
}

/// Makes a trace's file, which must not be there yet.
///
/// # Errors
/// It cannot be made.
pub fn create(path: &Path, format: &OutputFormat) -> Result<Box<dyn TraceWriter>, TraceError> {
    let options = File::options().read(true).write(true).create_new(true).open(path);
    let file = options.map_err(|error| TraceError::io(path.display().to_string(), error))?;
    (format.create)(file)
}

/// Copies all requests, up to where the trace is damaged: how many there were, and the damage.
///
/// # Errors
/// The trace cannot be read, or a request cannot be written.
pub fn copy(
    reader: &mut dyn TraceReader,
    writer: &mut dyn TraceWriter,
) -> Result<(u64, Option<TraceError>), TraceError> {
    let (mut requests, mut batch) = (0, Vec::new());
    loop {
        match reader.read(&mut batch) {
            Ok(0) => return Ok((requests, None)),
            Ok(read) => {
                writer.write(&batch, reader.keys())?;
                requests += read as u64;
            }
            Err(damage @ TraceError::Damaged { .. }) => return Ok((requests, Some(damage))),
            Err(error) => return Err(error),
        }
    }
}

/// Cannot write: the caller names the file.
pub(crate) fn failed(error: std::io::Error) -> TraceError {
    TraceError::io("the new trace cannot be written", error)
}
