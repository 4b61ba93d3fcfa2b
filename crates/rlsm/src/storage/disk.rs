//! A directory of a file system.

use std::any::Any;
use std::fs;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Advice, FallocateFlags, FlockOperation, SeekFrom, fadvise, fallocate, flock, ioctl_ficlone, seek};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use super::{COPY_BYTES, File, Storage, copy_through};
use crate::file_name::LOCK;

/// Holes are punched in blocks of this many bytes.
const BLOCK_BYTES: u64 = 4096;

/// A directory of a file system.
#[derive(Debug)]
pub struct DiskStorage {
    path: PathBuf,
    directory: fs::File,
}

impl DiskStorage {
    /// Opens the existing directory `path`.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().to_owned();
        let directory = fs::File::open(&path)?;
        if !directory.metadata()?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { path, directory })
    }

    /// Opens the directory `path`. Creates it, and missing ancestors, durably.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let missing: Vec<&Path> = path.ancestors().take_while(|ancestor| !ancestor.exists()).collect();
        fs::create_dir_all(&path)?;
        for parent in missing.iter().filter_map(|made| made.parent()) {
            fs::File::open(parent)?.sync_all()?;
        }
        Self::open(path)
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn at(&self, name: &str) -> io::Result<PathBuf> {
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
            let problem = format!("`{name}` is not a plain file name");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        Ok(self.path.join(name))
    }
}

impl Storage for DiskStorage {
    fn description(&self) -> String {
        self.path.display().to_string()
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let file = fs::File::options().read(true).append(true).create_new(true).open(self.at(name)?)?;
        Ok(Arc::new(DiskFile::new(file)))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let file = fs::File::options().read(true).append(true).open(self.at(name)?)?;
        Ok(Arc::new(DiskFile::new(file)))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.extend(entry.file_name().into_string().ok());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.at(from)?, self.at(to)?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.at(name)?)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.directory.sync_all()
    }

    fn lock(&self) -> io::Result<Option<Box<dyn Send + Sync>>> {
        let file = fs::File::options().write(true).create(true).truncate(false).open(self.at(LOCK)?)?;
        Ok(LockFile::acquire(file)?.map(|lock| Box::new(lock) as _))
    }

    /// Not a hard link: the two files would share holes and appends.
    fn copy(&self, name: &str, to: &dyn Storage) -> io::Result<()> {
        let Some(other) = (to as &dyn Any).downcast_ref::<Self>() else {
            return copy_through(&*Storage::open(self, name)?, name, to);
        };
        let from = fs::File::open(self.at(name)?)?;
        let to = fs::File::options().write(true).create_new(true).open(other.at(name)?)?;
        if ioctl_ficlone(&to, &from).is_err() {
            copy_data(&from, &to)?;
        }
        to.sync_all()
    }
}

/// The lock of a directory.
///
/// It is released explicitly. Closing the file is not sufficient: a child that another thread forks at that moment
/// shares the open file, and thus the lock, until it executes another program.
struct LockFile(fs::File);

impl LockFile {
    /// Locks `file`; `None` if it is locked already.
    fn acquire(file: fs::File) -> io::Result<Option<Self>> {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // If this fails, the lock ends with the process.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// Copies the data, and leaves holes out.
fn copy_data(from: &fs::File, to: &fs::File) -> io::Result<()> {
    let len = from.metadata()?.len();
    to.set_len(len)?;
    let mut buffer = vec![0; COPY_BYTES];
    let mut end = 0;
    while let Some(start) = next_data(from, end, len)? {
        end = next_hole(from, start, len)?;
        let mut at = start;
        while at < end {
            let piece = &mut buffer[..COPY_BYTES.min((end - at) as usize)];
            from.read_exact_at(piece, at)?;
            to.write_all_at(piece, at)?;
            at += piece.len() as u64;
        }
    }
    Ok(())
}

fn next_data(file: &fs::File, from: u64, len: u64) -> io::Result<Option<u64>> {
    if from >= len {
        return Ok(None);
    }
    match seek(file, SeekFrom::Data(from)) {
        Ok(start) => Ok((start < len).then_some(start)),
        Err(Errno::NXIO) => Ok(None),
        Err(Errno::INVAL) => Ok(Some(from)),
        Err(error) => Err(error.into()),
    }
}

fn next_hole(file: &fs::File, from: u64, len: u64) -> io::Result<u64> {
    match seek(file, SeekFrom::Hole(from)) {
        Ok(end) => Ok(end.min(len)),
        Err(Errno::INVAL) => Ok(len),
        Err(error) => Err(error.into()),
    }
}

struct DiskFile(fs::File);

impl DiskFile {
    /// Disables read-ahead: the kernel would take blocks that happen to be adjacent for a sequential read. Sequential
    /// readers call [`File::will_need`].
    fn new(file: fs::File) -> Self {
        // This is advice: without it reads are merely slower.
        let _ = fadvise(&file, 0, None, Advice::Random);
        Self(file)
    }
}

impl File for DiskFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        io::Write::write_all(&mut &self.0, bytes)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    fn read_cached(&self, buffer: &mut [u8], offset: u64) -> io::Result<Option<bool>> {
        let len = buffer.len();
        match preadv2(&self.0, &mut [io::IoSliceMut::new(buffer)], offset, ReadWriteFlags::NOWAIT) {
            Ok(read) => Ok(Some(read == len)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Some(false)),
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// By its descriptor: its name may be another's by now.
    #[cfg(feature = "recycle")]
    fn reopen(&self) -> Option<io::Result<fs::File>> {
        use std::os::fd::AsRawFd as _;
        Some(fs::File::open(format!("/proc/self/fd/{}", self.0.as_raw_fd())))
    }

    fn will_need(&self, offset: u64, len: u64) {
        let _ = fadvise(&self.0, offset, NonZeroU64::new(len), Advice::WillNeed);
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn allocated(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.blocks() * 512)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        let start = offset.next_multiple_of(BLOCK_BYTES);
        let end = (offset + len) / BLOCK_BYTES * BLOCK_BYTES;
        if start >= end {
            return Ok(());
        }
        match fallocate(&self.0, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, start, end - start) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use manometer_testing::{Cause, skip};

    use super::*;
    use crate::storage::simulated::SimulatedStorage;

    fn disk() -> (tempfile::TempDir, DiskStorage) {
        let directory = tempfile::tempdir().unwrap();
        let disk = DiskStorage::open(directory.path()).unwrap();
        (directory, disk)
    }

    fn content(storage: &dyn Storage, name: &str) -> Vec<u8> {
        let file = storage.open(name).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_at(&mut bytes, 0).unwrap();
        bytes
    }

    #[test]
    fn appended_bytes_can_be_read() {
        let (_folder, disk) = disk();
        let file = disk.create("a").unwrap();
        assert!(file.is_empty().unwrap());
        file.append(b"one ").unwrap();
        file.append(b"two").unwrap();
        file.sync().unwrap();
        disk.sync_directory().unwrap();
        assert_eq!(file.len().unwrap(), 7);
        assert_eq!(content(&disk, "a"), b"one two");
        let mut middle = [0; 3];
        disk.open("a").unwrap().read_at(&mut middle, 2).unwrap();
        assert_eq!(&middle, b"e t");
        let past_the_end = file.read_at(&mut [0; 3], 5).unwrap_err();
        assert_eq!(past_the_end.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_cached_read_returns_the_content_and_not_beyond_the_end() {
        let (_folder, disk) = disk();
        let file = disk.create("a").unwrap();
        file.append(b"one two").unwrap();
        let mut bytes = [0; 3];
        let is_cached = file.read_cached(&mut bytes, 4).unwrap();
        assert!(is_cached != Some(true) || &bytes == b"two");
        assert_ne!(file.read_cached(&mut bytes, 5).unwrap(), Some(true));
    }

    #[test]
    fn an_opened_and_truncated_file_can_be_appended_to() {
        let (_folder, disk) = disk();
        disk.create("a").unwrap().append(b"0123456789").unwrap();
        let file = disk.open("a").unwrap();
        file.truncate(4).unwrap();
        file.append(b"x").unwrap();
        assert_eq!(content(&disk, "a"), b"0123x");
    }

    #[test]
    fn create_refuses_what_exists_and_open_what_does_not() {
        let (_folder, disk) = disk();
        disk.create("a").unwrap();
        assert_eq!(disk.create("a").err().unwrap().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(Storage::open(&disk, "b").err().unwrap().kind(), io::ErrorKind::NotFound);
        assert_eq!(disk.remove("b").unwrap_err().kind(), io::ErrorKind::NotFound);
        for name in ["", ".", "..", "a/b", "/a"] {
            assert_eq!(disk.create(name).err().unwrap().kind(), io::ErrorKind::InvalidInput, "{name}");
        }
    }

    #[test]
    fn files_are_listed_renamed_and_removed() {
        let (directory, disk) = disk();
        fs::create_dir(directory.path().join("another")).unwrap();
        let file = disk.create("b").unwrap();
        file.append(b"kept").unwrap();
        disk.create("a").unwrap();
        assert_eq!(disk.list().unwrap(), ["a", "b"]);
        disk.rename("b", "a").unwrap();
        assert_eq!(disk.list().unwrap(), ["a"]);
        assert_eq!(content(&disk, "a"), b"kept");
        disk.remove("a").unwrap();
        assert!(disk.list().unwrap().is_empty());
        let mut bytes = [0; 4];
        file.read_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"kept");
    }

    #[test]
    fn a_lock_excludes_the_same_process_too() {
        let (directory, disk) = disk();
        let other = DiskStorage::open(directory.path()).unwrap();
        let held = disk.lock().unwrap();
        assert!(held.is_some());
        assert!(other.lock().unwrap().is_none());
        assert!(disk.lock().unwrap().is_none());
        drop(held);
        assert!(other.lock().unwrap().is_some());
    }

    #[test]
    fn a_released_lock_is_free_even_if_a_forked_child_has_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let held = LockFile::acquire(file.reopen().unwrap()).unwrap().unwrap();
        // What a forked child has: the same open file.
        let _child = held.0.try_clone().unwrap();
        drop(held);
        assert!(LockFile::acquire(file.reopen().unwrap()).unwrap().is_some());
    }

    #[test]
    fn a_hole_frees_its_blocks_and_keeps_their_neighbours() {
        let (directory, disk) = disk();
        let file = disk.create("a").unwrap();
        file.append(&vec![7; 1 << 20]).unwrap();
        file.sync().unwrap();
        let blocks = || fs::metadata(directory.path().join("a")).unwrap().blocks();
        let before = blocks();
        file.punch(100, (1 << 20) - 200).unwrap();
        file.punch(5, 0).unwrap();
        file.sync().unwrap();
        assert_eq!(file.len().unwrap(), 1 << 20);
        let bytes = content(&disk, "a");
        assert!(bytes[..100].iter().chain(&bytes[(1 << 20) - 100..]).all(|byte| *byte == 7));
        if blocks() == before {
            skip(Cause::HolePunching, "this file system cannot punch holes");
            return;
        }
        assert!(blocks() <= 2 * BLOCK_BYTES / 512 + 8, "{} blocks of 512 bytes are left", blocks());
        assert!(bytes[4096..(1 << 20) - 4096].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_copy_is_independent_and_keeps_holes() {
        let (_folder, disk) = disk();
        let (target, other) = self::disk();
        let file = disk.create("a").unwrap();
        file.append(&vec![7; 3 << 20]).unwrap();
        file.punch(4096, 2 << 20).unwrap();
        file.append(b"end").unwrap();
        let before = content(&disk, "a");
        disk.copy("a", &other).unwrap();
        file.append(b"more").unwrap();
        file.punch(0, 1 << 20).unwrap();
        assert_eq!(content(&other, "a"), before);
        let kept = fs::metadata(target.path().join("a")).unwrap().blocks() * 512;
        let source_has_holes = fs::metadata(disk.path().join("a")).unwrap().blocks() * 512 < 2 << 20;
        assert!(!source_has_holes || kept < 2 << 20, "{kept} bytes are used");
        assert_eq!(disk.copy("a", &other).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(disk.copy("b", &other).unwrap_err().kind(), io::ErrorKind::NotFound);
        let simulated = SimulatedStorage::new(0);
        disk.copy("a", &simulated).unwrap();
        assert_eq!(content(&simulated, "a"), content(&disk, "a"));
    }

    #[test]
    fn a_directory_is_created_with_its_ancestors() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("one/two");
        assert_eq!(DiskStorage::open(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        DiskStorage::create(&path).unwrap().create("a").unwrap();
        assert_eq!(DiskStorage::create(&path).unwrap().list().unwrap(), ["a"]);
        assert!(DiskStorage::open(path.join("a")).is_err());
    }
}
