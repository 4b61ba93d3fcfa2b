//! The storage interface: everything the engine needs of a file system. Tests put a faulty one beneath the engine.

use std::any::Any;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::{Error, Result};

mod disk;
mod overlay;
#[cfg(feature = "recycle")]
mod recycled;
pub mod simulated;

pub use disk::DiskStorage;
pub(crate) use overlay::OverlayStorage;
#[cfg(feature = "recycle")]
pub(crate) use recycled::RecycledStorage;

/// The size of the pieces in which files are copied.
const COPY_BYTES: usize = 1 << 20;

/// A directory of files. Names are plain file names.
pub trait Storage: Any + Send + Sync {
    /// Creates an empty file; fails if the name exists. The name is durable after [`Storage::sync_directory`].
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>>;

    /// Opens an existing file.
    fn open(&self, name: &str) -> io::Result<Arc<dyn File>>;

    /// The names of all files.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Renames a file, replacing one of the new name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a name. Open files can still be read.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes creations, renames and removals durable.
    fn sync_directory(&self) -> io::Result<()>;

    /// Locks the directory until the returned value is dropped; `None` if it is locked already.
    fn lock(&self) -> io::Result<Option<Box<dyn Send + Sync>>>;

    /// Copies a file to another directory under the same name, sharing blocks where possible. The content is durable
    /// when this returns, the name after [`Storage::sync_directory`] of `to`.
    fn copy(&self, name: &str, to: &dyn Storage) -> io::Result<()>;

    /// The path of the directory, for messages.
    fn description(&self) -> String;

    /// Marks a point between two steps of a change. A test can crash the machine here.
    fn fail_point(&self, _point: &'static str) {}
}

/// A file that grows at its end.
pub trait File: Send + Sync {
    /// Appends `bytes`. After an error, any part of them may be in the file.
    fn append(&self, bytes: &[u8]) -> io::Result<()>;

    /// Fills `buffer` from `offset` on. A file that ends before is [`io::ErrorKind::UnexpectedEof`].
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// As [`File::read_at`], if that does not have to wait for the device. Returns whether it read; if not, the content
    /// of the buffer is undefined. `None`, likewise, if that cannot be determined.
    fn read_cached(&self, _buffer: &mut [u8], _offset: u64) -> io::Result<Option<bool>> {
        Ok(None)
    }

    /// The file opened anew for reading only, where it is a file of a file system.
    #[cfg(feature = "recycle")]
    fn reopen(&self) -> Option<io::Result<std::fs::File>> {
        None
    }

    /// Advises that these bytes will be read soon.
    fn will_need(&self, _offset: u64, _len: u64) {}

    /// The length of the file.
    fn len(&self) -> io::Result<u64>;

    /// Bytes that the file takes on the device: less than its length if it has holes.
    fn allocated(&self) -> io::Result<u64> {
        self.len()
    }

    /// Whether the file is empty.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Truncates the file to `len` bytes.
    fn truncate(&self, len: u64) -> io::Result<()>;

    /// Makes all appended bytes durable. After an error, none of them may be.
    fn sync(&self) -> io::Result<()>;

    /// Punches a hole where possible: frees whole blocks within these bytes. Any of the bytes may read as zero from
    /// then on, or as before.
    fn punch(&self, offset: u64, len: u64) -> io::Result<()>;
}

/// Opens the existing directory `path`.
pub(crate) fn open_directory(path: &Path) -> Result<DiskStorage> {
    DiskStorage::open(path).map_err(Error::io("opening the directory", &path.display().to_string()))
}

/// Opens the directory `path`; a missing one is created.
pub(crate) fn create_directory(path: &Path) -> Result<DiskStorage> {
    DiskStorage::create(path).map_err(Error::io("creating the directory", &path.display().to_string()))
}

/// The names of all files.
pub(crate) fn list(storage: &dyn Storage) -> Result<Vec<String>> {
    storage.list().map_err(Error::io("listing the directory", &storage.description()))
}

/// Makes creations, renames and removals durable.
pub(crate) fn sync_directory(storage: &dyn Storage) -> Result<()> {
    storage.sync_directory().map_err(Error::io("syncing the directory", &storage.description()))
}

/// Copies a file between directories of different kinds.
fn copy_through(from: &dyn File, name: &str, to: &dyn Storage) -> io::Result<()> {
    let len = from.len()?;
    let to = to.create(name)?;
    let mut buffer = vec![0; COPY_BYTES];
    let mut offset = 0;
    while offset < len {
        let piece = &mut buffer[..COPY_BYTES.min((len - offset) as usize)];
        from.read_at(piece, offset)?;
        to.append(piece)?;
        offset += piece.len() as u64;
    }
    to.sync()
}
