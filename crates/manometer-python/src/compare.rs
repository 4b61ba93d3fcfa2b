//! Whether recordings differ.

use std::path::PathBuf;

use manometer_analysis::compare::{Conditions, Runs, pair, reference_drift, series, unlike};
use manometer_measure as measure;
use pyo3::prelude::*;
use serde_json::json;

use crate::error::CompareError;
use crate::recording::Recording;

/// B against A, or a series in order, as one JSON object.
#[pyfunction]
pub(crate) fn compare(py: Python<'_>, paths: Vec<PathBuf>, bound: f64) -> PyResult<String> {
    let compared = py.detach(|| {
        let read = paths.iter().map(|path| Runs::read(path)).collect::<Result<Vec<_>, _>>()?;
        match read.as_slice() {
            [a, b] => pair(a, b, bound).map(|pair| json!(pair)),
            all => series(all, bound).map(|series| json!(series)),
        }
    });
    compared.map(|compared| compared.to_string()).map_err(|error| CompareError::new_err(error.to_string()))
}

/// What a reader of several recordings together must know, as one JSON array: what should be the same in all of them
/// and is not.
#[pyfunction]
pub(crate) fn findings(py: Python<'_>, recordings: Vec<Py<Recording>>) -> String {
    let recordings: Vec<&measure::Recording> = recordings.iter().map(|one| one.get().recording()).collect();
    py.detach(|| {
        let conditions: Vec<Conditions> = recordings.iter().map(|one| Conditions::of(one)).collect();
        let mut findings = unlike(recordings.iter().map(|one| one.dir.as_path()).zip(&conditions));
        findings.extend(reference_drift(&recordings));
        json!(findings).to_string()
    })
}
