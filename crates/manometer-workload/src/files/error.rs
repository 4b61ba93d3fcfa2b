//! Why a `files` workload ended before it was told to.

use std::io;
use std::path::{Path, PathBuf};

use manometer_measure::ByteSize;
use manometer_measure::host::mount::free_bytes;
use manometer_target::engine::EngineError;
use manometer_target::file::FileError;

use crate::setting_error::SettingError;

/// Why a `files` workload ended before it was told to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilesError {
    /// The settings make no sense.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The folder of the files cannot be had.
    #[error(transparent)]
    Folder(#[from] EngineError),
    /// A file of a database could not be made or opened.
    #[error(transparent)]
    File(#[from] FileError),
    /// The files would not fit.
    #[error(
        "no space left in {}: {files} files of {wanted} in all are wanted, {free} are free; set `{setting}` lower, or \
         free space",
        path.display()
    )]
    NoSpace {
        /// The folder.
        path: PathBuf,
        /// How many files.
        files: u64,
        /// Their bytes, in whole blocks.
        wanted: ByteSize,
        /// What the file system has left.
        free: ByteSize,
        /// The setting that scales the data.
        setting: &'static str,
    },
    /// The file system has no names left.
    #[error(
        "no room for {files} files in {}: its file system can make {free} more, whatever their size; set `files` lower, \
         or make a file system with more inodes",
        path.display()
    )]
    NoInodes {
        /// The folder.
        path: PathBuf,
        /// How many files.
        files: u64,
        /// How many there can be.
        free: u64,
    },
    /// The file system is full.
    #[error(
        "{operation} of {} failed: the file system is full ({}): have fewer files, or free space",
        path.display(),
        free.map_or_else(|| "it does not tell what is free".to_owned(), |free| format!("{free} free"))
    )]
    Full {
        /// What was tried.
        operation: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the file system has left, where it tells.
        free: Option<ByteSize>,
    },
    /// The folder that was made for the files is gone.
    #[error("{operation} of {} failed: its directory is gone; was it removed while the workload ran?", path.display())]
    DirectoryRemoved {
        /// What was tried.
        operation: &'static str,
        /// On which file.
        path: PathBuf,
    },
    /// A file of a database is not as long as it was made.
    #[error(
        "{} is shorter than it was made: was it cut? Remove the workload's folder to have its files made anew",
        .0.display()
    )]
    Truncated(PathBuf),
    /// The file system, or the device below, said no.
    #[error("{operation} of {} failed: {source}", path.display())]
    Operation {
        /// What was tried.
        operation: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A thread could not be started.
    #[error("thread {number} cannot be started: {source}; set `threads` lower")]
    Thread {
        /// Which, from 1.
        number: u32,
        /// What the system said.
        source: io::Error,
    },
}

impl FilesError {
    /// What `operation` on `path` came to.
    pub(super) fn of(operation: &'static str, path: &Path, source: io::Error) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_said_becomes_what_can_be_done() {
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
