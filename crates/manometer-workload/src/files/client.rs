//! A client of a file tree: each operation once, as one or a few system calls.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use manometer_target::file::DataGenerator;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::append_size::append_bytes;
use super::file_pool::{FileState, LeasedFile};
use super::file_tree::FileTree;
use crate::file_threads::file_io::{IO_BYTES, create, read_to_end, write_bytes};
use crate::file_threads::{FileOperation, ThreadContext, ThreadEnd};

/// One client thread.
pub(super) struct FileClient<'a> {
    shared: &'a ThreadContext<'a>,
    file_tree: &'a FileTree,
    index: u32,
    random: Xoshiro256PlusPlus,
    data: DataGenerator,
    buffer: Vec<u8>,
}

impl<'a> FileClient<'a> {
    pub(super) fn new(shared: &'a ThreadContext<'a>, file_tree: &'a FileTree, index: u32) -> Self {
        let seed = shared.seed.wrapping_mul(31).wrapping_add(u64::from(index));
        Self {
            shared,
            file_tree,
            index,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            // New bytes for every run: equal bytes would help a device that deduplicates.
            data: DataGenerator::new(seed ^ shared.clock.now_ns()),
            buffer: vec![0; IO_BYTES],
        }
    }

    /// Creates a file, fills it with `act`, and closes it.
    pub(super) fn create(
        &mut self,
        act: impl FnOnce(&mut Self, &LeasedFile, &File, &Path) -> Result<(), ThreadEnd>,
    ) -> Result<(), ThreadEnd> {
        let Some(taken_file) = self.take(FileState::Absent)? else { return Ok(()) };
        let path = self.file_tree.tree.path(taken_file.0);
        let file = self.attempt(FileOperation::Create, &path, |_| Ok((create(&path)?, 0)))?;
        if let Some(file) = file {
            act(self, &taken_file, &file, &path)?;
        }
        self.file_tree.pool.put(taken_file, FileState::Present);
        Ok(())
    }

    /// Opens an existing file, calls `act` with it, and closes it.
    #[expect(
        clippy::disallowed_methods,
        reason = "the measured call itself, in the directory that the worker has created and locked"
    )]
    pub(super) fn open(
        &mut self,
        act: impl FnOnce(&mut Self, &File, &Path) -> Result<(), ThreadEnd>,
    ) -> Result<(), ThreadEnd> {
        let Some(taken_file) = self.take(FileState::Present)? else { return Ok(()) };
        let path = self.file_tree.tree.path(taken_file.0);
        let file = self.attempt(FileOperation::Open, &path, |_| {
            Ok((OpenOptions::new().read(true).append(true).open(&path)?, 0))
        })?;
        let state = if file.is_some() { FileState::Present } else { FileState::Absent };
        if let Some(file) = file {
            act(self, &file, &path)?;
        }
        self.file_tree.pool.put(taken_file, state);
        Ok(())
    }

    /// Writes all of a new file.
    pub(super) fn write_whole(&mut self, taken_file: &LeasedFile, file: &File, path: &Path) -> Result<(), ThreadEnd> {
        let bytes = self.file_tree.size_of(taken_file.0);
        self.attempt(FileOperation::Write, path, |own| own.write(file, bytes)).map(drop)
    }

    /// Appends to a file.
    pub(super) fn append(&mut self, file: &File, path: &Path) -> Result<(), ThreadEnd> {
        let bytes = append_bytes(self.file_tree.mean_append_bytes, &mut self.random);
        self.attempt(FileOperation::Append, path, |own| own.write(file, bytes)).map(drop)
    }

    /// Reads all of a file.
    pub(super) fn read_whole(&mut self, file: &File, path: &Path) -> Result<(), ThreadEnd> {
        self.attempt(FileOperation::Read, path, |own| own.read(file)).map(drop)
    }

    pub(super) fn fsync(&mut self, file: &File, path: &Path) -> Result<(), ThreadEnd> {
        self.attempt(FileOperation::Fsync, path, |_| Ok((file.sync_all()?, 0))).map(drop)
    }

    /// Removes an existing file.
    #[expect(
        clippy::disallowed_methods,
        reason = "the measured call itself, in the directory that the worker has created and locked"
    )]
    pub(super) fn delete(&mut self) -> Result<(), ThreadEnd> {
        let Some(taken_file) = self.take(FileState::Present)? else { return Ok(()) };
        let path = self.file_tree.tree.path(taken_file.0);
        self.attempt(FileOperation::Delete, &path, |_| Ok((fs::remove_file(&path)?, 0)))?;
        self.file_tree.pool.put(taken_file, FileState::Absent);
        Ok(())
    }

    /// Looks up an existing file.
    pub(super) fn stat(&mut self) -> Result<(), ThreadEnd> {
        let Some(taken_file) = self.take(FileState::Present)? else { return Ok(()) };
        let path = self.file_tree.tree.path(taken_file.0);
        let found = self.attempt(FileOperation::Stat, &path, |_| Ok((fs::symlink_metadata(&path)?, 0)))?;
        let state = if found.is_some() { FileState::Present } else { FileState::Absent };
        self.file_tree.pool.put(taken_file, state);
        Ok(())
    }

    fn take(&mut self, wanted: FileState) -> Result<Option<LeasedFile>, ThreadEnd> {
        let taken = self.file_tree.pool.take(wanted, &mut self.random);
        if taken.is_none() {
            if self.shared.gate.is_stopped() {
                return Err(ThreadEnd::Stopped);
            }
            self.shared.counts.skip(self.index);
        }
        Ok(taken)
    }

    fn attempt<T>(
        &mut self,
        operation: FileOperation,
        path: &Path,
        act: impl FnOnce(&mut Self) -> io::Result<(T, u64)>,
    ) -> Result<Option<T>, ThreadEnd> {
        self.shared.await_operation()?;
        let (shared, index) = (self.shared, self.index);
        shared.attempt(index, (operation, path), || act(self))
    }

    fn write(&mut self, file: &File, bytes: u64) -> io::Result<((), u64)> {
        write_bytes(file, bytes, &mut self.data, &mut self.buffer)?;
        Ok(((), bytes))
    }

    fn read(&mut self, file: &File) -> io::Result<((), u64)> {
        Ok(((), read_to_end(file, &mut self.buffer)?))
    }
}
