//! Imports results of other tools as recordings.

use std::path::PathBuf;

use manometer_import::{find_format, import};
use pyo3::prelude::*;

use crate::error::ImportFileError;

/// Imports files of a format as recordings in the folder `out`. Returns their folders.
#[pyfunction]
pub(crate) fn import_files(py: Python<'_>, format: &str, files: Vec<PathBuf>, out: PathBuf) -> PyResult<Vec<PathBuf>> {
    let unknown = || ImportFileError::new_err(format!("there is no format `{format}`"));
    let format = find_format(format).ok_or_else(unknown)?;
    py.detach(|| import(format, &files, &out)).map_err(|error| ImportFileError::new_err(error.to_string()))
}

/// Converts Storiks' parameter file to an experiment file.
#[pyfunction]
pub(crate) fn experiment_of_flags(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let text = py.detach(|| manometer_import::experiment_of_flags(&path));
    text.map_err(|error| ImportFileError::new_err(error.to_string()))
}
