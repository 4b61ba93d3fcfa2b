//! What can be wrong with a trace.

use std::borrow::Cow;
use std::io;

/// Why a trace cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be opened, read or written.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// From here on the trace makes no sense; all records before it are good.
    #[error("damaged {format} trace at byte {offset}{}: {what}", in_line(*line))]
    Damaged {
        /// The name of the format.
        format: &'static str,
        /// How many bytes of the (decompressed) trace are good.
        offset: u64,
        /// The line, counted from 1, where the format has lines.
        line: Option<u64>,
        /// What was found and what would be right.
        what: Cow<'static, str>,
    },
    /// The content is of no known format.
    #[error("{0}")]
    Unknown(String),
    /// The request does not fit the format.
    #[error("{0}")]
    Wrong(String),
}

/// Where a line is known, in an error's text.
fn in_line(line: Option<u64>) -> String {
    line.map(|line| format!(" (line {line})")).unwrap_or_default()
}

impl TraceError {
    /// An error of the system.
    pub(crate) fn io(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io { what: what.into(), source }
    }
}

/// Why one record is none: what was found and what would be right.
pub(crate) type Fault = Cow<'static, str>;
