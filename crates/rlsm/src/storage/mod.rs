//! The file layer: everything the engine asks of a file system, so that a test can put a treacherous one beneath it.

use std::any::Any;
use std::io;
use std::sync::Arc;

mod disk;
mod overlay;
pub mod simulated;

pub use disk::Disk;
pub(crate) use overlay::Overlay;

/// Files are copied in pieces of this many bytes.
const COPY_BYTES: usize = 1 << 20;

/// A folder of files. Names are plain: no folder lies below it.
pub trait Storage: Any + Send + Sync {
    /// Makes a new, empty file; fails if there is one of that name. The name is durable after
    /// [`Storage::sync_names`].
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>>;

    /// Opens a file that exists.
    fn open(&self, name: &str) -> io::Result<Arc<dyn File>>;

    /// The names of all files.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Gives a file another name, replacing what has it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a name; who has the file open can go on reading.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes names created, removed and given durable.
    fn sync_names(&self) -> io::Result<()>;

    /// Keeps other processes out until the returned value is dropped; `None` if another one is in.
    fn lock(&self) -> io::Result<Option<Box<dyn Send + Sync>>>;

    /// Makes a file `name` in `to`, another folder, with the content of this one's; shares its blocks where it can. The
    /// content is durable when this returns, the name after [`Storage::sync_names`] of `to`.
    fn copy(&self, name: &str, to: &dyn Storage) -> io::Result<()>;

    /// Where the folder is, for people.
    fn place(&self) -> String;

    /// Tells that the engine is at a point, named, between two steps of a change. A test may stop the world here.
    fn reach(&self, _point: &'static str) {}
}

/// A file that grows at its end.
pub trait File: Send + Sync {
    /// Puts `bytes` at the end. After an error, how much of them arrived is not known.
    fn append(&self, bytes: &[u8]) -> io::Result<()>;

    /// Fills `buffer` from `offset` on; an end of file before that is [`io::ErrorKind::UnexpectedEof`].
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// As [`File::read_at`], if that takes no waiting for the device, and says whether it was so; if not, what is in
    /// the buffer is not known. `None`, likewise, where that cannot be told.
    fn read_cached(&self, _buffer: &mut [u8], _offset: u64) -> io::Result<Option<bool>> {
        Ok(None)
    }

    /// Tells that these bytes will be read soon, for who can fetch them meanwhile.
    fn will_need(&self, _offset: u64, _len: u64) {}

    /// How long the file is, in bytes.
    fn len(&self) -> io::Result<u64>;

    /// What the file takes on the device, in bytes: less than its length where space was given back.
    fn allocated(&self) -> io::Result<u64> {
        self.len()
    }

    /// Whether nothing is in it.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Cuts the file to `len` bytes.
    fn truncate(&self, len: u64) -> io::Result<()>;

    /// Makes everything appended durable. After an error, none of it can be counted on.
    fn sync(&self) -> io::Result<()>;

    /// Gives the space of the whole blocks among these bytes back where it can. All of them may read as zero from now
    /// on, or as before.
    fn punch(&self, offset: u64, len: u64) -> io::Result<()>;
}

/// Copies a file between folders of different kinds.
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
