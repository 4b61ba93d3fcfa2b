//! The result of a comparison.

use manometer_analysis::compare::{Comparison, SeriesComparison};

/// The result of a comparison.
#[derive(serde::Serialize)]
#[serde(untagged)]
pub(super) enum ComparisonResult {
    Pair(Comparison),
    Series(SeriesComparison),
}
