//! Compares recordings.

use std::path::PathBuf;

use manometer_analysis::compare as analysis;
use manometer_analysis::runs_verdict::judge_runs;
use manometer_measure as measure;
use manometer_report::AnalysedRecording;
use pyo3::prelude::*;
use serde_json::json;

use crate::error::{self, CompareError};
use crate::recording::Recording;

/// Compares two recordings, or a series in order. Returns one JSON object.
#[pyfunction]
pub(crate) fn compare(py: Python<'_>, paths: Vec<PathBuf>, bound: f64) -> PyResult<String> {
    py.detach(|| compare_json(&paths, bound)).map_err(CompareError::new_err)
}

fn compare_json(paths: &[PathBuf], bound: f64) -> Result<String, String> {
    if paths.len() < 2 {
        return Err("give two recordings, or a series of them, to compare".to_owned());
    }
    let compared = analysis::compare(paths, bound).map_err(|error| error.to_string())?;
    // A path that is not UTF-8 has no JSON form.
    serde_json::to_string(&compared).map_err(|error| error.to_string())
}

/// The recordings in a folder, and the folders in it that are no recordings.
#[pyfunction]
pub(crate) fn recordings_in(path: PathBuf) -> PyResult<(Vec<PathBuf>, Vec<PathBuf>)> {
    analysis::recordings_in(&path).map_err(error::recording)
}

/// Findings about several recordings together, as one JSON array: conditions that should be equal and differ.
#[pyfunction]
pub(crate) fn findings(py: Python<'_>, recordings: Vec<Py<Recording>>) -> String {
    let recordings: Vec<&measure::Recording> = recordings.iter().map(|one| one.get().recording()).collect();
    py.detach(|| json!(analysis::common_findings(&recordings)).to_string())
}

/// The headline and the verdict of several recordings together, as one JSON object.
#[pyfunction]
pub(crate) fn runs_verdict(py: Python<'_>, recordings: Vec<Py<Recording>>) -> String {
    let recorded: Vec<&AnalysedRecording> = recordings.iter().map(|one| one.get().recorded(py)).collect();
    py.detach(|| {
        let together: Vec<&measure::Recording> = recorded.iter().map(|one| &one.recording).collect();
        let runs: Vec<_> = recorded.iter().map(|one| one.judged()).collect();
        json!(judge_runs(&runs, &analysis::common_findings(&together))).to_string()
    })
}
