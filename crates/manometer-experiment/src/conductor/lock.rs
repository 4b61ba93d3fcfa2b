//! One run at a time in a device directory.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// The file in the directory that a run holds locked; the lock ends with its process, however it ends.
const LOCK_FILE: &str = ".manometer.lock";

/// A directory that cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another run has it.
    #[error("{} is in use by another run (process {holder}): wait for it, or choose another folder", path.display())]
    Held {
        /// The directory.
        path: PathBuf,
        /// The other run's process id, as it wrote it down.
        holder: String,
    },
    /// It cannot be made or written.
    #[error("{}: {source}: choose a folder that can be written", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the file system said.
        source: std::io::Error,
    },
}

/// Holds a device directory until dropped.
#[derive(Debug)]
pub struct DirectoryLock(#[expect(dead_code, reason = "the lock lives as long as the open file")] File);

impl DirectoryLock {
    /// Makes `directory` where it is missing, and takes it.
    ///
    /// # Errors
    /// Another run holds it, or it cannot be written.
    pub fn take(directory: &Path) -> Result<Self, LockError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| LockError::Io { path, source }
        };
        fs::create_dir_all(directory).map_err(io(directory))?;
        let path = directory.join(LOCK_FILE);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(io(&path))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let mut holder = String::new();
                // What cannot be read is only the name of the other run.
                let _ = file.read_to_string(&mut holder);
                return Err(LockError::Held { path: directory.to_owned(), holder: holder.trim().to_owned() });
            }
            Err(error) => return Err(io(&path)(error.into())),
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(io(&path))?;
        writeln!(file, "{}", std::process::id()).map_err(io(&path))?;
        Ok(Self(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_held_once_and_free_again() {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("a/b");
        let lock = DirectoryLock::take(&inside).unwrap();
        let error = DirectoryLock::take(&inside).unwrap_err();
        assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
        drop(lock);
        DirectoryLock::take(&inside).unwrap();
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let error = DirectoryLock::take(Path::new("/proc/nothing/here")).unwrap_err();
        assert!(error.to_string().contains("/proc/nothing/here"), "{error}");
    }
}
