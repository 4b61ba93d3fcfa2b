//! Errors of a workload of files.

use std::io;
use std::path::{Path, PathBuf};

use manometer_measure::ByteSize;
use manometer_measure::host::mount::free_bytes;
use manometer_target::engine::EngineError;
use manometer_target::file::FileError;

use crate::error::WorkloadError;
use crate::setting_error::SettingError;

/// Why a workload of files failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilesError {
    /// A setting is invalid.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The folder of the files cannot be used.
    #[error(transparent)]
    Folder(#[from] EngineError),
    /// A file of a database could not be created or opened.
    #[error(transparent)]
    File(#[from] FileError),
    /// The files do not fit.
    #[error(
        "no space left in {}: {files} files and directories need {wanted} in all, {free} are free; set `{setting}` lower, or \
         free space",
        path.display()
    )]
    NoSpace {
        /// The folder.
        path: PathBuf,
        /// How many files and directories.
        files: u64,
        /// Their bytes, in whole blocks.
        wanted: ByteSize,
        /// What the file system has left.
        free: ByteSize,
        /// The setting that scales the data.
        setting: &'static str,
    },
    /// The file system has too few inodes.
    #[error(
        "too few inodes for {files} files and directories in {}: its file system can create {free} more; set `files` lower, or create \
         a file system with more inodes",
        path.display()
    )]
    NoInodes {
        /// The folder.
        path: PathBuf,
        /// How many files and directories.
        files: u64,
        /// How many there can be.
        free: u64,
    },
    /// The file system is full.
    #[error(
        "{operation} of {} failed: the file system is full ({}): use fewer files, or free space",
        path.display(),
        free.map_or_else(|| "free space unknown".to_owned(), |free| format!("{free} free"))
    )]
    Full {
        /// The operation.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The free space, where known.
        free: Option<ByteSize>,
    },
    /// The directory of the files was removed.
    #[error("{operation} of {} failed: its directory is gone; was it removed while the workload ran?", path.display())]
    DirectoryRemoved {
        /// The operation.
        operation: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// A file of a database is shorter than it was created.
    #[error(
        "{} is shorter than it was created: was it truncated? Remove the workload's directory to have its files \
         created again",
        .0.display()
    )]
    Truncated(PathBuf),
    /// The file system or the device failed.
    #[error("{operation} of {} failed: {source}", path.display())]
    Operation {
        /// The operation.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// A thread could not be started.
    #[error("thread {number} cannot be started: {source}; set `threads` lower")]
    Thread {
        /// Which, from 1.
        number: u32,
        /// The system's error.
        source: io::Error,
    },
}

impl FilesError {
    /// The error of `operation` on `path`.
    pub(crate) fn of(operation: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                let free = free_bytes(&path).map(ByteSize);
                Self::Full { operation, path, free }
            }
            io::ErrorKind::NotFound => Self::DirectoryRemoved { operation, path },
            io::ErrorKind::UnexpectedEof => Self::Truncated(path),
            _ => Self::Operation { operation, path, source },
        }
    }
}

impl From<FilesError> for WorkloadError {
    fn from(error: FilesError) -> Self {
        let is_wrong_request = matches!(error, FilesError::Setting(_));
        Self::of_kind(error, is_wrong_request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_kernel_say_what_to_do() {
        let of = |number| {
            let source = io::Error::from_raw_os_error(number);
            FilesError::of("append", Path::new("/var/tmp/f"), source).to_string()
        };
        for full in [libc::ENOSPC, libc::EDQUOT] {
            assert!(of(full).contains("append of /var/tmp/f failed: the file system is full"), "{}", of(full));
            assert!(of(full).contains(" free)"), "{}", of(full));
        }
        assert!(of(libc::ENOENT).contains("its directory is gone"));
        let cut = FilesError::of("read", Path::new("/var/tmp/f"), io::ErrorKind::UnexpectedEof.into());
        assert!(matches!(cut, FilesError::Truncated(_)), "{cut}");
        assert!(of(libc::EROFS).contains("Read-only file system"));
    }
}
