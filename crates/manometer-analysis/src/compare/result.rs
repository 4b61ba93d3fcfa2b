//! The comparison of recordings in folders, as a pair or as a series.

use std::path::PathBuf;

use manometer_measure::event::Finding;
use serde::Serialize;

use super::{CompareError, ComparedRuns, Comparison, GateResult, SeriesComparison, compare_pair, compare_series};

/// The result of a comparison.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum ComparisonResult {
    /// Of two.
    Pair(Comparison),
    /// Of a series.
    Series(SeriesComparison),
}

impl ComparisonResult {
    /// The findings of the recordings and of the comparison.
    pub fn findings(&self) -> &[Finding] {
        match self {
            Self::Pair(pair) => &pair.findings,
            Self::Series(series) => &series.findings,
        }
    }

    /// Whether the later side, or the last recording, is shown to be no worse.
    pub fn gate(&self) -> GateResult {
        match self {
            Self::Pair(pair) => pair.gate(),
            Self::Series(series) => series.gate(),
        }
    }
}

/// Compares the recordings in `paths`: two as a pair, others as a series in order.
///
/// # Errors
/// One cannot be read, or they cannot be compared.
pub fn compare(paths: &[PathBuf], bound: f64) -> Result<ComparisonResult, CompareError> {
    let runs = paths.iter().map(|path| ComparedRuns::read(path)).collect::<Result<Vec<_>, _>>()?;
    match runs.as_slice() {
        [a, b] => compare_pair(a, b, bound).map(ComparisonResult::Pair),
        series => compare_series(series, bound).map(ComparisonResult::Series),
    }
}
