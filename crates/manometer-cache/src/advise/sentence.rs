//! A sentence of the recommendation.

use manometer_measure::Grade;
use serde::Serialize;

/// A sentence of the recommendation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AdviceSentence {
    /// Its subject: `memory`, `policy`, `ssd`, `sensitivity` or `caution`.
    pub about: &'static str,
    /// What it may be used for; `None` for a caution.
    pub grade: Option<Grade>,
    /// The sentence.
    pub text: String,
}
