//! Errors of traces.

use std::borrow::Cow;
use std::io;

/// Why a trace cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be opened, read or written.
    #[error("{what}: {source}")]
    Io {
        /// The failed operation.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// The trace is damaged here; all records before are good.
    #[error("damaged {format} trace at byte {offset}{}: {what}", in_line(*line))]
    Damaged {
        /// The name of the format.
        format: &'static str,
        /// The number of good bytes of the decompressed trace.
        offset: u64,
        /// The line, from 1, if the format has lines.
        line: Option<u64>,
        /// What was found, and what would be right.
        what: Cow<'static, str>,
    },
    /// No known format fits the content.
    #[error("{0}")]
    Unknown(String),
    /// The request does not fit the format.
    #[error("{0}")]
    Wrong(String),
}

/// The line for an error's text, if known.
fn in_line(line: Option<u64>) -> String {
    line.map(|line| format!(" (line {line})")).unwrap_or_default()
}

impl TraceError {
    /// A system error.
    pub(crate) fn io(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io { what: what.into(), source }
    }
}

/// Why a record is invalid: what was found, and what would be right.
pub(crate) type RecordFault = Cow<'static, str>;
