//! Other tools' results as recordings.

use std::path::PathBuf;

use manometer_import::{Tool, import, storiks};
use pyo3::prelude::*;

use crate::error::ImportFileError;

/// Makes recordings of a tool's files in the folder `out`; gives their folders.
#[pyfunction]
pub(crate) fn import_files(py: Python<'_>, tool: &str, files: Vec<PathBuf>, out: PathBuf) -> PyResult<Vec<PathBuf>> {
    let tool = match tool {
        "storiks" => Tool::Storiks,
        "ycsb" => Tool::Ycsb,
        "db_bench" => Tool::DbBench,
        "fio" => Tool::Fio,
        // The package asks for no other.
        _ => Tool::ResctlBench,
    };
    py.detach(|| import(tool, &files, &out)).map_err(|error| ImportFileError::new_err(error.to_string()))
}

/// Storiks' parameter file as an experiment file.
#[pyfunction]
pub(crate) fn experiment_of_flags(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let text = py.detach(|| storiks::experiment_of_flags(&path));
    text.map_err(|error| ImportFileError::new_err(error.to_string()))
}
