//! Open files of a directory.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use rustix::fs;
use rustix::io::{Errno, ReadWriteFlags};

use super::super::node_file_system::{Handle, Stat, Writing};
use super::caller::clearing_set_id;
use super::known::Known;
use super::objects::stat_of;

/// An open file of the directory.
pub struct DirectoryHandle {
    pub(super) file: File,
    pub(super) inode: u64,
    pub(super) known: Arc<Known>,
}

impl DirectoryHandle {
    /// Size and times change with the content.
    fn change<T>(&self, act: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
        self.known.change_object(self.inode, &[], act)
    }
}

fn errno(error: io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error)
}

impl Handle for DirectoryHandle {
    fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; length];
        let mut filled = 0;
        while filled < length {
            match self.file.read_at(&mut bytes[filled..], offset + filled as u64).map_err(errno)? {
                0 => break,
                read => filled += read,
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    fn write(&self, bytes: &[u8], how: Writing) -> Result<usize, Errno> {
        let write = || match how.offset {
            Some(offset) => self.file.write_at(bytes, offset).map_err(errno),
            None => rustix::io::pwritev2(&self.file, &[IoSlice::new(bytes)], 0, ReadWriteFlags::APPEND),
        };
        self.change(|| clearing_set_id(how.clears_set_id, write))
    }

    fn sync(&self, data_only: bool) -> Result<(), Errno> {
        if data_only { self.file.sync_data() } else { self.file.sync_all() }.map_err(errno)
    }

    fn stat(&self) -> Result<Stat, Errno> {
        stat_of(&self.file, self.inode)
    }

    fn set_size(&self, size: u64, clears_set_id: bool) -> Result<(), Errno> {
        self.change(|| clearing_set_id(clears_set_id, || fs::ftruncate(&self.file, size)))
    }
}
