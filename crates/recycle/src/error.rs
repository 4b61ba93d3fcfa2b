//! What can go wrong.

use std::io;

/// The result of an operation on a region.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation failed. Offsets and lengths are bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The budget is too small.
    #[error("a budget of {got} bytes is too small: {reason} (at least {wanted} bytes)")]
    Budget {
        /// The budget asked for.
        got: u64,
        /// The least budget.
        wanted: u64,
        /// What needs more.
        reason: &'static str,
    },
    /// The budget is too large.
    #[error("a budget of {got} bytes is too large: at most {most} bytes")]
    BudgetTooLarge {
        /// The budget asked for.
        got: u64,
        /// The largest budget.
        most: u64,
    },
    /// It is neither a file nor a block device.
    #[error("it is a {what}: a region needs a regular file or a block device")]
    NotAFile {
        /// What it is: a directory, a character device …
        what: &'static str,
    },
    /// The system lacks or forbids what is needed.
    #[error("{what}: {source}; {remedy}")]
    Unsupported {
        /// What is not possible.
        what: &'static str,
        /// What the user can do.
        remedy: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The file or its device failed.
    #[error("{operation} of {bytes} bytes at {offset} failed: {source}")]
    Io {
        /// `read`, `write` …
        operation: &'static str,
        /// Where in the file.
        offset: u64,
        /// How many bytes.
        bytes: u64,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The file has become shorter than the region: another program truncated it.
    #[error("the file ends at {len}, but the region needs its bytes at {offset}: another program truncated it")]
    Truncated {
        /// Where the region needs bytes.
        offset: u64,
        /// The file's length.
        len: u64,
    },
    /// The bytes are not in the region.
    #[error("{bytes} bytes at {offset} are not within the region of {len} bytes")]
    OutOfRange {
        /// Where they begin.
        offset: u64,
        /// How many.
        bytes: u64,
        /// The region's length.
        len: u64,
    },
    /// As many pages are pinned as the budget holds.
    #[error("all {pages} pages of the budget are pinned: drop a pin, or give the region more memory")]
    AllPinned {
        /// The budget, in pages.
        pages: u32,
    },
    /// The file was opened for reading only.
    #[error("the file was opened for reading only: open it for reading and writing to change it")]
    ReadOnly,
    /// The file was opened for writing only.
    #[error("the file was opened for writing only: open it for reading and writing, because pages are read first")]
    WriteOnly,
    /// Another region of this process writes the file, or would see this one write it.
    #[error(
        "another region of this process has the file, and one of the two writes it: each would keep its own copy of \
         a page; share one region instead"
    )]
    Shared,
    /// Too many regions share a budget.
    #[error("a budget is shared by at most {most} regions")]
    TooManyRegions {
        /// How many may.
        most: usize,
    },
}

impl Error {
    /// The kernel's error number, where there is one.
    pub fn os_error(&self) -> Option<i32> {
        match self {
            Self::Io { source, .. } | Self::Unsupported { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }

    /// For `map_err`: `operation` failed.
    pub(crate) fn io(operation: &'static str, offset: u64, bytes: u64) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { operation, offset, bytes, source }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Io { ref source, .. } | Error::Unsupported { ref source, .. } => {
                Self::new(source.kind(), error.to_string())
            }
            Error::OutOfRange { .. } | Error::Budget { .. } | Error::BudgetTooLarge { .. } | Error::NotAFile { .. } => {
                Self::new(io::ErrorKind::InvalidInput, error)
            }
            Error::Truncated { .. } => Self::new(io::ErrorKind::UnexpectedEof, error),
            other => Self::other(other),
        }
    }
}
