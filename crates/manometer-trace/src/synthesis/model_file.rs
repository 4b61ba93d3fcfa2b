//! The JSON file of a model.

use std::fs::File;
use std::io::{BufReader, BufWriter, Cursor, Read as _, Write as _};
use std::path::Path;

use super::model::TraceModel;
use crate::error::TraceError;

/// The mark of a model's file, within its first bytes.
const MARK: &[u8] = b"\"manometer_trace_model\"";
const MARK_BYTES: u64 = 256;
/// The maximum size of a model, in bytes.
const MODEL_BYTES_MAX: u64 = 64 << 20;

/// Reads the model of a file; `None` if the file does not begin like one.
///
/// # Errors
/// The file cannot be read, or begins like a model and is none.
pub fn read_model(path: &Path) -> Result<Option<TraceModel>, TraceError> {
    let wrong = |what: String| TraceError::Wrong(format!("{}: {what}", path.display()));
    let mut file = File::open(path).map_err(|error| wrong(error.to_string()))?;
    let mut head = Vec::new();
    (&mut file).take(MARK_BYTES).read_to_end(&mut head).map_err(|error| wrong(error.to_string()))?;
    if !head.starts_with(b"{") || !head.windows(MARK.len()).any(|window| window == MARK) {
        return Ok(None);
    }
    let all = BufReader::new(Cursor::new(head).chain(file.take(MODEL_BYTES_MAX)));
    serde_json::from_reader(all).map(Some).map_err(|error| wrong(format!("not a model: {error}")))
}

/// Writes a model into a new file.
///
/// # Errors
/// The file exists, or cannot be written.
pub fn write_model(path: &Path, model: &TraceModel) -> Result<(), TraceError> {
    let failed = |error| TraceError::io(path.display().to_string(), error);
    let mut file = BufWriter::new(File::create_new(path).map_err(failed)?);
    serde_json::to_writer_pretty(&mut file, model).map_err(|error| failed(error.into()))?;
    file.write_all(b"\n").and_then(|()| file.flush()).map_err(failed)
}
