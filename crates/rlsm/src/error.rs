//! Errors: what failed, where, and what to do next.

use std::io;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file system refused an operation.
    #[error("{operation} `{file}`: {source}")]
    Io {
        /// The operation, as in `writing`.
        operation: &'static str,
        /// The file, relative to the database's directory, or the directory itself.
        file: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// A file does not hold what was written to it.
    #[error("`{file}` is damaged at byte {offset}: {problem}")]
    Corrupt {
        /// The file, relative to the database's directory.
        file: String,
        /// The offset in the file, in bytes.
        offset: u64,
        /// What was found and what was expected.
        problem: String,
    },
    /// Another process, or another [`Database`](crate::Database) or [`Iter`](crate::Iter) of this one, holds the
    /// database's lock.
    #[error("the database in `{directory}` is open elsewhere: close it there first")]
    Locked {
        /// The database's directory.
        directory: String,
    },
    /// An earlier write, sync, flush or compaction failed: what is on the device is not known, so the database takes no
    /// more writes. Reads go on. Open the database again to recover.
    #[error("the database stopped writing after a failure; reopen it: {reason}")]
    Poisoned {
        /// The first failure.
        reason: String,
    },
    /// An argument or an option is out of bounds, or does not fit this database.
    #[error("{problem}")]
    Invalid {
        /// What was passed and what is allowed.
        problem: String,
    },
}

impl Error {
    pub(crate) fn io(operation: &'static str, file: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { operation, file: file.to_owned(), source }
    }

    /// A copy, for the other members of a write group: [`io::Error`] cannot be cloned.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::Io { operation, file, source } => {
                let source = match source.raw_os_error() {
                    Some(code) => io::Error::from_raw_os_error(code),
                    None => io::Error::new(source.kind(), source.to_string()),
                };
                Self::Io { operation, file: file.clone(), source }
            }
            Self::Corrupt { file, offset, problem } => Self::corrupt(file, *offset, problem),
            Self::Locked { directory } => Self::Locked { directory: directory.clone() },
            Self::Poisoned { reason } => Self::Poisoned { reason: reason.clone() },
            Self::Invalid { problem } => Self::Invalid { problem: problem.clone() },
        }
    }

    pub(crate) fn corrupt(file: &str, offset: u64, problem: impl Into<String>) -> Self {
        Self::Corrupt { file: file.to_owned(), offset, problem: problem.into() }
    }
}
