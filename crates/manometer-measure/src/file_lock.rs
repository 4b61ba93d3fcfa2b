//! A lock on an open file that ends when it is said to, whoever else holds the file open.

use std::fs::File;
use std::io;
use std::ops::Deref;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// A file, locked against everybody else until this is dropped or the process ends.
///
/// A child that another thread forks holds every open file until it executes its program, and with the file the
/// lock. So the lock is given back in so many words: to close the file would leave it with the child for that moment.
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// Locks `file`; nothing where another has it.
    ///
    /// # Errors
    /// The file system knows no locks, say.
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
        // It ends with the process where it cannot be given back.
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
    fn it_is_free_though_a_forked_child_still_holds_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let held = FileLock::take(file.reopen().unwrap()).unwrap().unwrap();
        // As a child has it: the same open file.
        let _child = held.try_clone().unwrap();
        drop(held);
        assert!(FileLock::take(file.reopen().unwrap()).unwrap().is_some());
    }
}
