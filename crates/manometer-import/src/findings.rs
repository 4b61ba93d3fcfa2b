//! The findings of an import.

use manometer_measure::event::{Finding, Severity};

/// The file contains unreadable bytes.
pub(crate) fn damaged(text: String) -> Finding {
    Finding { id: "import-damaged".to_owned(), severity: Severity::Warning, phase: None, text }
}

/// The file is truncated.
pub(crate) fn cut_short(text: String) -> Finding {
    Finding { id: "import-cut-short".to_owned(), severity: Severity::Warning, phase: None, text }
}

/// The file's clock went back.
pub(crate) fn clock_stepped(text: String) -> Finding {
    Finding { id: "import-clock-stepped".to_owned(), severity: Severity::Warning, phase: None, text }
}

/// The file has an unknown version of its format.
pub(crate) fn unknown_version(text: String) -> Finding {
    Finding { id: "import-unknown-version".to_owned(), severity: Severity::Warning, phase: None, text }
}
