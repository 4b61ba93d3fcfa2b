//! A lock on an open file that is released explicitly, even if another process has the file open.

use std::fs::File;
use std::io;
use std::ops::Deref;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// A file with an exclusive lock, held until this is dropped or the process ends.
///
/// A child that another thread forks holds every open file, and with it the lock, until it executes its program. Therefore the
/// lock is released explicitly: closing the file would leave it with the child until then.
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// Locks `file`; `None` if it is locked already.
    ///
    /// # Errors
    /// The lock fails, for example because the file system does not support locks.
    pub fn take(file: File) -> io::Result<Option<Self>> {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Deref for FileLock {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // The lock ends with the process if it cannot be released.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it_at_a_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let held = FileLock::take(file.reopen().unwrap()).unwrap().unwrap();
        assert!(FileLock::take(file.reopen().unwrap()).unwrap().is_none());
        drop(held);
        assert!(FileLock::take(file.reopen().unwrap()).unwrap().is_some());
    }

    #[test]
    fn the_lock_is_released_although_a_forked_child_holds_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let held = FileLock::take(file.reopen().unwrap()).unwrap().unwrap();
        // As a child has it: the same open file.
        let _child = held.try_clone().unwrap();
        drop(held);
        assert!(FileLock::take(file.reopen().unwrap()).unwrap().is_some());
    }
}
