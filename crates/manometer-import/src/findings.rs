//! The findings of an import.

use manometer_measure::event::{Finding, Severity};

/// The file holds bytes that cannot be read.
pub(crate) fn damaged(text: String) -> Finding {
    Finding { id: "import-damaged".to_owned(), severity: Severity::Warning, phase: None, text }
}

/// The file lacks its end.
pub(crate) fn cut_short(text: String) -> Finding {
    Finding { id: "import-cut-short".to_owned(), severity: Severity::Warning, phase: None, text }
}

/// The file's clock went back.
pub(crate) fn clock_stepped(text: String) -> Finding {
    Finding { id: "import-clock-stepped".to_owned(), severity: Severity::Warning, phase: None, text }
}

/// The file names a version of its format that was not known when this was written.
pub(crate) fn unknown_version(text: String) -> Finding {
    Finding { id: "import-unknown-version".to_owned(), severity: Severity::Warning, phase: None, text }
}
