//! A trace in several files: each holds the records that follow those of the one before.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use crate::error::TraceError;
use crate::format::{Format, ReadOptions};
use crate::open::{Trace, open};
use crate::reader::TraceReader;
use crate::record::Record;

/// The formats that number devices as they appear in a file.
const NUMBERED: [&str; 2] = ["blkparse", "msr"];

/// Opens the parts of a trace in the given order as one trace. A part is opened when the ones before it have ended.
///
/// # Errors
/// There is no part, one is no file, or the first cannot be opened. Reading fails where a later one has another format.
pub fn open_parts(paths: &[PathBuf], options: &ReadOptions) -> Result<Trace, TraceError> {
    let [first, others @ ..] = paths else {
        return Err(TraceError::Wrong("a trace has at least one part: name its files".to_owned()));
    };
    if let Some(missing) = others.iter().find(|path| !path.is_file()) {
        return Err(TraceError::Wrong(format!("{} is no file: name the parts of one trace", missing.display())));
    }
    let Trace { format, reader } = open(first, options).map_err(|error| in_part(first, error))?;
    if others.is_empty() {
        return Ok(Trace { format, reader });
    }
    if NUMBERED.contains(&format.name) {
        return Err(TraceError::Wrong(format!(
            "{} names devices, which are numbered in the order of each file: parts would not agree; join the files",
            format.name
        )));
    }
    let parts = Parts {
        path: first.clone(),
        reader,
        left: others.iter().cloned().collect(),
        options: options.clone(),
        format,
        skipped: 0,
    };
    Ok(Trace { format, reader: Box::new(parts) })
}

/// Reads one part after the other.
struct Parts {
    path: PathBuf,
    reader: Box<dyn TraceReader>,
    left: VecDeque<PathBuf>,
    options: ReadOptions,
    format: &'static Format,
    /// The skipped entries of the parts that have ended.
    skipped: u64,
}

impl Parts {
    /// Opens the next part; returns whether there is one.
    fn advance(&mut self) -> Result<bool, TraceError> {
        let Some(path) = self.left.pop_front() else { return Ok(false) };
        let Trace { format, reader } = open(&path, &self.options).map_err(|error| in_part(&path, error))?;
        if format.name != self.format.name {
            return Err(TraceError::Wrong(format!(
                "{} is a trace of the format {}, and the parts before it are of {}: name the parts of one trace",
                path.display(),
                format.name,
                self.format.name
            )));
        }
        self.skipped += self.reader.skipped();
        (self.path, self.reader) = (path, reader);
        Ok(true)
    }
}

impl TraceReader for Parts {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        loop {
            let count = self.reader.read(batch).map_err(|error| in_part(&self.path, error))?;
            if count > 0 || !self.advance()? {
                return Ok(count);
            }
        }
    }

    fn skipped(&self) -> u64 {
        self.skipped + self.reader.skipped()
    }
}

/// The error with the name of the part.
fn in_part(path: &Path, error: TraceError) -> TraceError {
    match error {
        TraceError::Damaged { format, offset, line, what } => {
            let what = Cow::Owned(format!("{what}, in {}", path.display()));
            TraceError::Damaged { format, offset, line, what }
        }
        error => error,
    }
}
