//! How a run ended, in words.

use manometer_analysis::summary::RunSummary;

/// How a run ended.
pub(super) fn describe_status(status: &str) -> String {
    match status {
        "complete" => "complete".to_owned(),
        "interrupted" => "interrupted".to_owned(),
        "failed" => "failed".to_owned(),
        "cut" => "cut short: the recording has no end".to_owned(),
        other => other.to_owned(),
    }
}

/// Whether a run measured all that it set out to.
pub(super) fn is_complete(summary: &RunSummary) -> bool {
    summary.status == "complete"
}
