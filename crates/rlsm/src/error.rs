//! What can go wrong, and what to do about it.

use std::io;

/// What `rlsm` answers.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file system refused.
    #[error("{doing} `{file}`: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The file, relative to the database's folder.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// A file does not hold what was written into it.
    #[error("`{file}` is damaged at byte {offset}: {what}")]
    Corrupt {
        /// The file, relative to the database's folder.
        file: String,
        /// Where in the file, in bytes.
        offset: u64,
        /// What was found and what was expected.
        what: String,
    },
    /// Another process has the database open.
    #[error("the database in `{folder}` is open elsewhere: close it there first")]
    Locked {
        /// The database's folder.
        folder: String,
    },
    /// An earlier write or sync failed, so nothing that follows can be trusted to be kept; reopen the database.
    #[error("the database stopped writing after a failure; reopen it: {reason}")]
    Poisoned {
        /// The first failure.
        reason: String,
    },
    /// An argument is out of bounds.
    #[error("{what}")]
    Invalid {
        /// What was got, and what would be right.
        what: String,
    },
}

impl Error {
    pub(crate) fn io(doing: &'static str, file: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, file: file.to_owned(), source }
    }

    /// The same error again, for another who waits for the same work.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::Io { doing, file, source } => {
                let source = match source.raw_os_error() {
                    Some(code) => io::Error::from_raw_os_error(code),
                    None => io::Error::new(source.kind(), source.to_string()),
                };
                Self::Io { doing, file: file.clone(), source }
            }
            Self::Corrupt { file, offset, what } => Self::corrupt(file, *offset, what),
            Self::Locked { folder } => Self::Locked { folder: folder.clone() },
            Self::Poisoned { reason } => Self::Poisoned { reason: reason.clone() },
            Self::Invalid { what } => Self::Invalid { what: what.clone() },
        }
    }

    pub(crate) fn corrupt(file: &str, offset: u64, what: impl Into<String>) -> Self {
        Self::Corrupt { file: file.to_owned(), offset, what: what.into() }
    }
}
