//! The findings of an import.

use manometer_measure::event::{Finding, Severity};

/// The file contains unreadable bytes.
pub(crate) fn damaged(text: String) -> Finding {
    Finding::new("import-damaged", Severity::Warning, text)
}

/// The file is truncated.
pub(crate) fn cut_short(text: String) -> Finding {
    Finding::new("import-cut-short", Severity::Warning, text)
}

/// The file's clock went back.
pub(crate) fn clock_stepped(text: String) -> Finding {
    Finding::new("import-clock-stepped", Severity::Warning, text)
}

/// The file has an unknown version of its format.
pub(crate) fn unknown_version(text: String) -> Finding {
    Finding::new("import-unknown-version", Severity::Warning, text)
}
