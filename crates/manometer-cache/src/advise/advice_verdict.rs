//! What advice as a whole may be used for.

use manometer_measure::Grade;
use serde::Serialize;

/// What the advice as a whole may be used for, and why not for more.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AdviceVerdict {
    /// Void if neither memory nor policy can be advised, sound if every part is.
    pub grade: Grade,
    /// What threatens it, as clauses.
    pub reasons: Vec<String>,
}
