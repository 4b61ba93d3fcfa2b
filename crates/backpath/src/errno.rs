//! Why a path does not resolve, in the words of `errno(3)`.

/// A refusal of the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Errno {
    /// `ENOENT`: a component is missing, or the path is empty.
    #[error("no such file or directory")]
    NotFound,
    /// `ENOTDIR`: a component that has to be a directory is something else.
    #[error("not a directory")]
    NotADirectory,
    /// `EACCES`: a directory on the way may not be searched, or the access itself is not permitted.
    #[error("permission denied")]
    AccessDenied,
    /// `ELOOP`: more than [`LINKS_MAX`](crate::LINKS_MAX) symbolic links.
    #[error("too many levels of symbolic links")]
    TooManyLinks,
    /// `ENAMETOOLONG`: a component has more than 255 bytes, or the path more than 4,095.
    #[error("file name too long")]
    NameTooLong,
    /// `EEXIST`: the name is taken.
    #[error("file exists")]
    Exists,
    /// `ENOTEMPTY`: the directory has entries.
    #[error("directory not empty")]
    NotEmpty,
    /// `EISDIR`: a directory, where something else is wanted.
    #[error("is a directory")]
    IsADirectory,
    /// `EPERM`: only the owner, or a privileged user, may do this.
    #[error("operation not permitted")]
    NotPermitted,
    /// `EBUSY`: a mount point, or the root.
    #[error("device or resource busy")]
    Busy,
    /// `EXDEV`: the two names are in different file systems.
    #[error("invalid cross-device link")]
    CrossDevice,
    /// `EINVAL`: a directory cannot move below itself; a name has a NUL byte or a slash.
    #[error("invalid argument")]
    Invalid,
    /// `EMLINK`: the object has the most names it can have.
    #[error("too many links")]
    TooManyNames,
    /// `EFBIG`: the file would be larger than the store takes.
    #[error("file too large")]
    FileTooLarge,
}

impl Errno {
    /// The number that Linux gives it.
    pub fn code(self) -> i32 {
        match self {
            Self::NotPermitted => 1,
            Self::NotFound => 2,
            Self::AccessDenied => 13,
            Self::Busy => 16,
            Self::Exists => 17,
            Self::CrossDevice => 18,
            Self::NotADirectory => 20,
            Self::IsADirectory => 21,
            Self::Invalid => 22,
            Self::FileTooLarge => 27,
            Self::TooManyNames => 31,
            Self::NameTooLong => 36,
            Self::NotEmpty => 39,
            Self::TooManyLinks => 40,
        }
    }
}

/// Why a resolution over a store failed: the path was refused, or the store could not be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError<E> {
    /// The path does not resolve for these credentials.
    #[error(transparent)]
    Refused(#[from] Errno),
    /// The store failed; nothing is known of the path.
    #[error("the store failed: {0}")]
    Store(E),
}

impl<E> ResolveError<E> {
    /// The refusal, if it was one.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Refused(errno) => Some(*errno),
            Self::Store(_) => None,
        }
    }
}
