//! One thread's hands on the files of a tree: each operation once, as a system call or a few.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use manometer_target::file::DataGenerator;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::entries::{Entry, Wanted};
use super::operation::Operation;
use super::shared::{Halt, Shared};
use super::sizes::append_bytes;
use super::trees::Trees;

/// What is read or written by one system call at most (Filebench's `iosize=1m`).
pub(super) const CALL_BYTES: usize = 1 << 20;
/// What written bytes are made in multiples of.
const DATA_UNIT_BYTES: usize = 16;

/// A thread with a name in hand at most.
pub(super) struct Hands<'a> {
    shared: &'a Shared<'a>,
    trees: &'a Trees,
    index: u32,
    random: Xoshiro256PlusPlus,
    data: DataGenerator,
    buffer: Vec<u8>,
}

impl<'a> Hands<'a> {
    pub(super) fn new(shared: &'a Shared<'a>, trees: &'a Trees, index: u32) -> Self {
        let seed = shared.seed.wrapping_mul(31).wrapping_add(u64::from(index));
        Self {
            shared,
            trees,
            index,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            // Bytes of their own for every run: the same ones again would help a device that deduplicates.
            data: DataGenerator::new(seed ^ shared.clock.now_ns()),
            buffer: vec![0; CALL_BYTES],
        }
    }

    /// Makes a file that is not there, has `act` fill it, and closes it.
    pub(super) fn create(
        &mut self,
        act: impl FnOnce(&mut Self, &Entry, &File, &Path) -> Result<(), Halt>,
    ) -> Result<(), Halt> {
        let Some(entry) = self.take(Wanted::Absent)? else { return Ok(()) };
        let path = self.trees.tree.path(entry.0);
        let file = self.attempt(Operation::Create, &path, |_| Ok((create(&path)?, 0)))?;
        if let Some(file) = file {
            act(self, &entry, &file, &path)?;
        }
        self.trees.entries.put(entry, Wanted::Present);
        Ok(())
    }

    /// Opens a file that is there, has `act` use it, and closes it.
    pub(super) fn open(&mut self, act: impl FnOnce(&mut Self, &File, &Path) -> Result<(), Halt>) -> Result<(), Halt> {
        let Some(entry) = self.take(Wanted::Present)? else { return Ok(()) };
        let path = self.trees.tree.path(entry.0);
        let file =
            self.attempt(Operation::Open, &path, |_| Ok((OpenOptions::new().read(true).append(true).open(&path)?, 0)))?;
        let state = if file.is_some() { Wanted::Present } else { Wanted::Absent };
        if let Some(file) = file {
            act(self, &file, &path)?;
        }
        self.trees.entries.put(entry, state);
        Ok(())
    }

    /// Writes all of a new file.
    pub(super) fn write_whole(&mut self, entry: &Entry, file: &File, path: &Path) -> Result<(), Halt> {
        let bytes = self.trees.sizes.of(entry.0);
        self.attempt(Operation::Write, path, |own| own.write(file, bytes)).map(drop)
    }

    /// Writes behind a file's end.
    pub(super) fn append(&mut self, file: &File, path: &Path) -> Result<(), Halt> {
        let bytes = append_bytes(self.shared.plan.mean_append_bytes, &mut self.random);
        self.attempt(Operation::Append, path, |own| own.write(file, bytes)).map(drop)
    }

    /// Reads all of a file.
    pub(super) fn read_whole(&mut self, file: &File, path: &Path) -> Result<(), Halt> {
        self.attempt(Operation::Read, path, |own| own.read(file)).map(drop)
    }

    pub(super) fn fsync(&mut self, file: &File, path: &Path) -> Result<(), Halt> {
        self.attempt(Operation::Fsync, path, |_| Ok((file.sync_all()?, 0))).map(drop)
    }

    /// Removes a file that is there.
    pub(super) fn delete(&mut self) -> Result<(), Halt> {
        let Some(entry) = self.take(Wanted::Present)? else { return Ok(()) };
        let path = self.trees.tree.path(entry.0);
        self.attempt(Operation::Delete, &path, |_| Ok((fs::remove_file(&path)?, 0)))?;
        self.trees.entries.put(entry, Wanted::Absent);
        Ok(())
    }

    /// Looks a file up that is there.
    pub(super) fn stat(&mut self) -> Result<(), Halt> {
        let Some(entry) = self.take(Wanted::Present)? else { return Ok(()) };
        let path = self.trees.tree.path(entry.0);
        let found = self.attempt(Operation::Stat, &path, |_| Ok((fs::symlink_metadata(&path)?, 0)))?;
        let state = if found.is_some() { Wanted::Present } else { Wanted::Absent };
        self.trees.entries.put(entry, state);
        Ok(())
    }

    fn take(&mut self, wanted: Wanted) -> Result<Option<Entry>, Halt> {
        let taken = self.trees.entries.take(wanted, &mut self.random);
        if taken.is_none() {
            if self.shared.roster.is_stopped() {
                return Err(Halt::Over);
            }
            self.shared.tally.skip(self.index);
        }
        Ok(taken)
    }

    fn attempt<T>(
        &mut self,
        operation: Operation,
        path: &Path,
        act: impl FnOnce(&mut Self) -> io::Result<(T, u64)>,
    ) -> Result<Option<T>, Halt> {
        self.shared.await_operation()?;
        let (shared, index) = (self.shared, self.index);
        shared.attempt(index, (operation, path), || act(self))
    }

    fn write(&mut self, file: &File, bytes: u64) -> io::Result<((), u64)> {
        write_out(file, bytes, &mut self.data, &mut self.buffer)?;
        Ok(((), bytes))
    }

    fn read(&mut self, mut file: &File) -> io::Result<((), u64)> {
        let mut bytes = 0;
        loop {
            match file.read(&mut self.buffer) {
                Ok(0) => return Ok(((), bytes)),
                Ok(more) => bytes += more as u64,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// A new file; what has its name is cut to nothing.
pub(super) fn create(path: &PathBuf) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path).and_then(|file| {
        file.set_len(0)?;
        Ok(file)
    })
}

/// Writes `bytes` new bytes through `buffer`, which is of [`CALL_BYTES`].
pub(super) fn write_out(mut file: &File, bytes: u64, data: &mut DataGenerator, buffer: &mut [u8]) -> io::Result<()> {
    let mut left = bytes;
    while left > 0 {
        let length = left.min(buffer.len() as u64) as usize;
        data.fill(&mut buffer[..length.next_multiple_of(DATA_UNIT_BYTES)]);
        file.write_all(&buffer[..length])?;
        left -= length as u64;
    }
    Ok(())
}
