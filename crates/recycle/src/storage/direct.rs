//! A file of a file system, or a block device, past the page cache where that is possible.

use std::collections::HashMap;
use std::fs::{File, FileType};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use parking_lot::Mutex;

use super::ring::Rings;
use super::{Run, Storage};
use crate::{Error, PAGE_BYTES, Result};

/// Most buffers of one system call: the kernel's `IOV_MAX`.
const MAX_BUFFERS: usize = 1024;

/// Opens a file, for reading or for both, without waiting for anybody: what is no file is refused by
/// [`FileStorage::new`], and a pipe does not wait for its other end before.
///
/// # Errors
/// The file cannot be opened.
pub fn open_file(path: &Path, is_writable: bool) -> io::Result<File> {
    File::options().read(true).write(is_writable).custom_flags(libc::O_NONBLOCK).open(path)
}

/// A file read and written with `O_DIRECT`; its last, incomplete page through the page cache.
#[derive(Debug)]
pub struct FileStorage {
    /// For what is no whole page.
    buffered: File,
    /// Past the page cache, where the file system can.
    direct: Option<File>,
    is_device: bool,
    is_writable: bool,
    rings: Rings,
    /// Released with the file.
    _use: FileUse,
}

impl FileStorage {
    /// Reads and writes `file`, as it was opened: for reading, or for both.
    ///
    /// # Errors
    /// It is neither a file nor a block device, it cannot be read, or another region of this process uses it in a way that
    /// excludes this one.
    pub fn new(file: &File) -> Result<Self> {
        let failed = |operation| Error::io(operation, 0, 0);
        let metadata = file.metadata().map_err(failed("examination"))?;
        let kind = metadata.file_type();
        let is_device = kind.is_block_device();
        if !is_device && !kind.is_file() {
            return Err(Error::NotAFile { what: name_of(kind) });
        }
        let is_writable = is_writable(file)?;
        let held = FileUse::new((metadata.dev(), metadata.ino()), is_writable)?;
        Ok(Self {
            buffered: file.try_clone().map_err(failed("duplication"))?,
            direct: reopen_direct(file, is_writable),
            is_device,
            is_writable,
            rings: Rings::default(),
            _use: held,
        })
    }

    /// Whether reads and writes go past the page cache. Where the file system cannot, as tmpfs, every page is in memory
    /// twice, and the budget counts only one of them.
    pub fn is_direct(&self) -> bool {
        self.direct.is_some()
    }

    /// Whether the file was opened for writing, too.
    pub fn is_writable(&self) -> bool {
        self.is_writable
    }

    /// The descriptor for a transfer of `bytes`: direct I/O knows whole pages only.
    fn descriptor(&self, bytes: usize) -> RawFd {
        let direct = self.direct.as_ref().filter(|_| bytes.is_multiple_of(PAGE_BYTES));
        direct.unwrap_or(&self.buffered).as_raw_fd()
    }

    fn write_from(&self, offset: u64, buffers: &[IoSlice<'_>], mut done: usize) -> io::Result<()> {
        let bytes: usize = buffers.iter().map(|buffer| buffer.len()).sum();
        while done < bytes {
            let rest = rest_of(buffers, done);
            let rest = &rest[..rest.len().min(MAX_BUFFERS)];
            let length = rest.iter().map(|buffer| buffer.len()).sum();
            let place = offset as i64 + done as i64;
            // SAFETY: the vector names live buffers, as many as said.
            let written =
                unsafe { libc::pwritev(self.descriptor(length), rest.as_ptr().cast(), rest.len() as i32, place) };
            done += progress(written)?.unwrap_or(0);
        }
        Ok(())
    }
}

impl Storage for FileStorage {
    fn len(&self) -> io::Result<u64> {
        if self.is_device {
            // SAFETY: the call has no pointers; nobody uses this descriptor's position.
            let end = unsafe { libc::lseek64(self.buffered.as_raw_fd(), 0, libc::SEEK_END) };
            return u64::try_from(end).map_err(|_| io::Error::last_os_error());
        }
        Ok(self.buffered.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.buffered.set_len(len)
    }

    fn read(&self, offset: u64, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let bytes: usize = buffers.iter().map(|buffer| buffer.len()).sum();
        let mut done = 0;
        while done < bytes {
            let (first, skip) = position(buffers.iter().map(|buffer| buffer.len()), done);
            let count = (buffers.len() - first).min(MAX_BUFFERS);
            let place = offset as i64 + done as i64;
            let read = if skip == 0 {
                // SAFETY: the vector names live buffers, as many as said.
                unsafe { libc::preadv(self.descriptor(0), buffers[first..].as_mut_ptr().cast(), count as i32, place) }
            } else {
                let rest = &mut buffers[first][skip..];
                // SAFETY: the buffer is live, and as long as said. The rest of a page goes through the page cache: a
                // short direct read ends at a sector, and not at a page.
                unsafe { libc::pread(self.buffered.as_raw_fd(), rest.as_mut_ptr().cast(), rest.len(), place) }
            };
            match progress(read)? {
                Some(0) => break,
                moved => done += moved.unwrap_or(0),
            }
        }
        Ok(done)
    }

    fn write(&self, offset: u64, buffers: &[IoSlice<'_>]) -> io::Result<()> {
        self.write_from(offset, buffers, 0)
    }

    fn write_runs(&self, runs: &[Run<'_>]) -> Vec<io::Result<()>> {
        let written = self.rings.write(runs, |run| self.descriptor(run.bytes()));
        let finish = |(run, written): (&Run<'_>, io::Result<usize>)| match written {
            Ok(done) => self.write_from(run.offset, run.buffers, done),
            Err(error) if is_transient(&error) => self.write_from(run.offset, run.buffers, 0),
            Err(error) => Err(error),
        };
        runs.iter().zip(written).map(finish).collect()
    }

    fn sync(&self) -> io::Result<()> {
        self.buffered.sync_data()
    }
}

fn name_of(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_dir() => "directory",
        kind if kind.is_fifo() => "pipe",
        kind if kind.is_socket() => "socket",
        _ => "character device",
    }
}

/// Whether the descriptor can write; it must be able to read.
fn is_writable(file: &File) -> Result<bool> {
    // SAFETY: the call has no pointers.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    match flags & libc::O_ACCMODE {
        _ if flags == -1 => Err(Error::io("examination", 0, 0)(io::Error::last_os_error())),
        libc::O_WRONLY => Err(Error::WriteOnly),
        mode => Ok(mode == libc::O_RDWR),
    }
}

/// The same file with `O_DIRECT`; the caller's descriptor stays as it is.
fn reopen_direct(file: &File, is_writable: bool) -> Option<File> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    File::options().read(true).write(is_writable).custom_flags(libc::O_DIRECT).open(path).ok()
}

/// What a transfer moved; nothing where it is to be tried again.
fn progress(moved: isize) -> io::Result<Option<usize>> {
    usize::try_from(moved).map_or_else(
        |_| {
            let error = io::Error::last_os_error();
            if is_transient(&error) { Ok(None) } else { Err(error) }
        },
        |moved| Ok(Some(moved)),
    )
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN))
}

/// The buffer in which byte `done` lies, and its place there.
fn position(lengths: impl Iterator<Item = usize>, mut done: usize) -> (usize, usize) {
    let mut first = 0;
    for length in lengths {
        if done < length {
            break;
        }
        (first, done) = (first + 1, done - length);
    }
    (first, done)
}

/// The buffers without their first `done` bytes.
fn rest_of<'a>(buffers: &'a [IoSlice<'a>], done: usize) -> Vec<IoSlice<'a>> {
    let (first, skip) = position(buffers.iter().map(|buffer| buffer.len()), done);
    let whole = buffers[first..].iter().enumerate();
    whole.map(|(index, buffer)| IoSlice::new(&buffer[if index == 0 { skip } else { 0 }..])).collect()
}

/// A process, and the device and number of a file. A forked child inherits its parent's uses and has none of its own.
type UseKey = (u32, u64, u64);

/// Which files regions of a process use, and how: so many that read, or -1 for one that writes.
static USES: Mutex<Option<HashMap<UseKey, i32>>> = Mutex::new(None);

/// A use of a file that excludes others.
#[derive(Debug)]
struct FileUse {
    key: UseKey,
    is_writer: bool,
}

impl FileUse {
    fn new((device, number): (u64, u64), is_writer: bool) -> Result<Self> {
        let key = (std::process::id(), device, number);
        let mut uses = USES.lock();
        let count = uses.get_or_insert_default().entry(key).or_insert(0);
        match (is_writer, *count) {
            (true, 0) => *count = -1,
            (false, 0..) => *count += 1,
            _ => return Err(Error::Shared),
        }
        Ok(Self { key, is_writer })
    }
}

impl Drop for FileUse {
    fn drop(&mut self) {
        let mut uses = USES.lock();
        let uses = uses.get_or_insert_default();
        if let Some(count) = uses.get_mut(&self.key) {
            *count += if self.is_writer { 1 } else { -1 };
            if *count == 0 {
                uses.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_across_buffers() {
        let lengths = [3, 0, 4];
        assert_eq!(position(lengths.into_iter(), 0), (0, 0));
        assert_eq!(position(lengths.into_iter(), 2), (0, 2));
        assert_eq!(position(lengths.into_iter(), 3), (2, 0));
        assert_eq!(position(lengths.into_iter(), 7), (3, 0));
    }

    #[test]
    fn the_rest_of_buffers_starts_within_one() {
        let buffers = [IoSlice::new(b"abc"), IoSlice::new(b"def")];
        let rest: Vec<u8> = rest_of(&buffers, 4).iter().flat_map(|buffer| buffer.to_vec()).collect();
        assert_eq!(rest, b"ef");
    }

    #[test]
    fn readers_share_a_file_and_a_writer_does_not() {
        let (one, other) = ((1, u64::MAX), (1, u64::MAX - 1));
        let readers = [FileUse::new(one, false).unwrap(), FileUse::new(one, false).unwrap()];
        assert!(matches!(FileUse::new(one, true), Err(Error::Shared)));
        let writer = FileUse::new(other, true).unwrap();
        assert!(matches!(FileUse::new(other, false), Err(Error::Shared)));
        drop((readers, writer));
        drop((FileUse::new(one, true).unwrap(), FileUse::new(other, false).unwrap()));
        assert!(!USES.lock().get_or_insert_default().contains_key(&(std::process::id(), one.0, one.1)));
    }
}
