//! The files of a workload, and whether existing ones may be used or replaced.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use manometer_measure::{ByteSize, Directory};
use rustix::fs::{AtFlags, CWD, OFlags, SeekFrom, StatxFlags};
use rustix::io::Errno;

use super::{FileError, MAGIC};

/// Files of equal size, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSet {
    /// Their paths.
    pub paths: Vec<PathBuf>,
    /// Bytes of each file in use.
    pub bytes_each: u64,
}

/// What may be done with an existing file. Only [`Self::Overwrite`] ever changes a file that Manometer did not create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileReuse {
    /// Files of Manometer are created again.
    Remake,
    /// Files of Manometer are used if their size is right, else created again.
    Reuse,
    /// Any file that is large enough and fully written is used; the workload only reads.
    ReadOnly,
    /// Any file that is large enough and fully written is used; others are created again.
    Overwrite,
}

/// What to do with one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    Make,
    Use,
}

impl FileSet {
    /// Opens every file, for writing too if `write`, bypassing the page cache if `direct`.
    ///
    /// # Errors
    /// A file is missing, may not be opened, or its file system does not support direct I/O.
    pub fn open(&self, write: bool, direct: bool) -> Result<Vec<File>, FileError> {
        self.paths.iter().map(|path| open_one(path, write, direct)).collect()
    }
}

fn open_one(path: &Path, write: bool, direct: bool) -> Result<File, FileError> {
    let access = if write { OFlags::RDWR } else { OFlags::RDONLY };
    let flags = if direct { access | OFlags::DIRECT } else { access };
    let opened = Directory::holding(path).and_then(|(directory, name)| directory.open_file(name, flags));
    opened.map_err(|error| match error.raw_os_error() {
        Some(libc::EINVAL) if direct => FileError::DirectIoUnsupported(path.to_owned()),
        _ => FileError::system("open", path)(error),
    })
}

/// Decides what to do with `path`.
pub(super) fn choose(path: &Path, bytes: u64, existing: FileReuse) -> Result<Choice, FileError> {
    let size = match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => return Err(FileError::NotRegularFile(path.to_owned())),
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Choice::Make),
        Err(error) => return Err(FileError::system("examine", path)(error)),
    };
    let ours = is_own_file(path)?;
    let usable = size >= bytes && first_hole(path)? >= bytes;
    match existing {
        FileReuse::Remake if ours => Ok(Choice::Make),
        FileReuse::Reuse if ours => Ok(if size == bytes && usable { Choice::Use } else { Choice::Make }),
        FileReuse::Remake | FileReuse::Reuse => Err(FileError::ForeignFile(path.to_owned())),
        FileReuse::ReadOnly | FileReuse::Overwrite if usable => Ok(Choice::Use),
        FileReuse::ReadOnly if !ours => Err(unusable(path, size, bytes)),
        FileReuse::ReadOnly | FileReuse::Overwrite => Ok(Choice::Make),
    }
}

fn unusable(path: &Path, size: u64, bytes: u64) -> FileError {
    match first_hole(path) {
        Ok(_) if size < bytes => {
            FileError::TooSmall { path: path.to_owned(), got: ByteSize(size), wanted: ByteSize(bytes) }
        }
        Ok(offset) => FileError::SparseFile { path: path.to_owned(), offset },
        Err(error) => error,
    }
}

/// Whether Manometer created the file at `path`: it is empty or begins with [`MAGIC`].
///
/// # Errors
/// The file cannot be read.
pub fn is_own_file(path: &Path) -> Result<bool, FileError> {
    let mut file = File::open(path).map_err(FileError::system("open", path))?;
    let mut start = [0; MAGIC.len()];
    match file.read_exact(&mut start) {
        Ok(()) => Ok(start == MAGIC),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Ok(file.metadata().map_err(FileError::system("examine", path))?.len() == 0)
        }
        Err(error) => Err(FileError::system("read", path)(error)),
    }
}

/// The offset of the file's first hole or unwritten extent; its size if it has none, or if the file system does not
/// report it.
fn first_hole(path: &Path) -> Result<u64, FileError> {
    let file = File::open(path).map_err(FileError::system("open", path))?;
    match rustix::fs::seek(&file, SeekFrom::Hole(0)) {
        Ok(offset) => Ok(offset),
        // An empty file has no data to seek to.
        Err(Errno::NXIO) => Ok(0),
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(u64::MAX),
        Err(error) => Err(FileError::system("examine", path)(error)),
    }
}

/// The alignment in bytes that direct I/O on `path` requires of offsets and lengths, if the kernel reports it (Linux
/// 6.1).
pub fn direct_alignment_bytes(path: &Path) -> Option<u64> {
    let known =
        rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::from_bits_retain(libc::STATX_DIOALIGN)).ok()?;
    (known.stx_mask & libc::STATX_DIOALIGN != 0 && known.stx_dio_offset_align > 0)
        .then_some(u64::from(known.stx_dio_offset_align))
}
