//! What stands for an object of the host, whatever becomes of its names: the handle that its file system gives for it, which
//! costs no open file, or else an open file.

use std::collections::HashMap;
use std::ffi::c_int;
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rustix::fs::{self, Mode, OFlags};
use rustix::io::Errno;

use super::super::nodes::Identity;
use super::objects::path_of;

/// The file systems whose handles find their objects also after the kernel dropped them from memory, by `statfs(2)`'s
/// type: ext2 to ext4, XFS, Btrfs, F2FS, tmpfs.
const LASTING: [u64; 5] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994];
/// `MAX_HANDLE_SZ` of the kernel.
const HANDLE_BYTES_MAX: usize = 128;

/// An object that the kernel knows.
#[derive(Debug)]
pub(super) enum Object {
    /// By its file system's handle for it. A removed object has none.
    Handle { mount: Arc<OwnedFd>, handle: Handle },
    /// By an open file.
    Open(Arc<OwnedFd>),
}

impl Object {
    /// An open file of the object, not to be read.
    pub fn open(&self) -> Result<Arc<OwnedFd>, Errno> {
        match self {
            Self::Handle { mount, handle } => handle.open(mount).map(Arc::new),
            Self::Open(file) => Ok(Arc::clone(file)),
        }
    }
}

impl Identity for Object {
    /// As long as a file of an object is open, no other has its number.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Open(_), _) => true,
            (Self::Handle { handle, .. }, Self::Handle { handle: other, .. }) => handle == other,
            (Self::Handle { .. }, Self::Open(_)) => false,
        }
    }
}

/// The mounts at and below the directory, by the kernel's numbers for them. One is in use only as long as there are objects of it.
#[derive(Debug, Default)]
pub(super) struct Mounts(Mutex<HashMap<c_int, Mount>>);

#[derive(Debug)]
enum Mount {
    /// Its objects are opened by their handles through this open file of one of its directories.
    ByHandle(Weak<OwnedFd>),
    /// Its objects cannot be opened by handles, or not for long.
    ByFile,
}

impl Mounts {
    /// What stands for an open file's object from now on.
    pub fn object(&self, file: OwnedFd, is_directory: bool) -> Object {
        self.by_handle(&file, is_directory).unwrap_or_else(|| Object::Open(Arc::new(file)))
    }

    /// What stands for it by its handle, where there is a lasting one.
    pub fn by_handle(&self, file: &OwnedFd, is_directory: bool) -> Option<Object> {
        let (handle, number) = Handle::of(file).ok()?;
        let mut mounts = self.0.lock();
        // A mount keeps its number while a file of it is open.
        let known = mounts.get(&number).and_then(|mount| match mount {
            Mount::ByHandle(opened) => opened.upgrade().map(Some),
            Mount::ByFile => Some(None),
        });
        let mount = match known {
            Some(mount) => mount?,
            // Only a directory can be opened without consequences.
            None if !is_directory => return None,
            None => {
                // Where that is not to be known now, the next one may tell.
                let opened = usable(file, &handle).ok()?.map(Arc::new);
                let mount = opened.as_ref().map_or(Mount::ByFile, |opened| Mount::ByHandle(Arc::downgrade(opened)));
                mounts.insert(number, mount);
                opened?
            }
        };
        Some(Object::Handle { mount, handle })
    }
}

/// An open file of the directory's mount, if this process may open its objects by lasting handles.
///
/// # Errors
/// If that is not to be known now: too many files are open, or there is no memory.
fn usable(directory: &OwnedFd, handle: &Handle) -> Result<Option<OwnedFd>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let tried = fs::open(path_of(directory), flags, Mode::empty()).and_then(|mount| {
        let lasts = LASTING.contains(&(fs::fstatfs(&mount)?.f_type as u64));
        if !lasts {
            return Ok(None);
        }
        handle.open(&mount)?;
        Ok(Some(mount))
    });
    match tried {
        Err(short @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => Err(short),
        Err(_) => Ok(None),
        Ok(mount) => Ok(mount),
    }
}

/// `file_handle` of `name_to_handle_at(2)`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Handle {
    kind: c_int,
    bytes: Box<[u8]>,
}

/// The same as the kernel has it.
#[repr(C)]
struct RawHandle {
    length: u32,
    kind: c_int,
    bytes: [u8; HANDLE_BYTES_MAX],
}

impl Handle {
    /// The handle of an open file's object, and the number of its mount.
    fn of(file: impl AsFd) -> Result<(Self, c_int), Errno> {
        let mut raw = RawHandle { length: HANDLE_BYTES_MAX as u32, kind: 0, bytes: [0; HANDLE_BYTES_MAX] };
        let mut mount: c_int = 0;
        // SAFETY: the name is a string of C, and the kernel writes the handle, whose room it is told, and the mount's number;
        // it keeps no pointer.
        let result = unsafe {
            let (number, file) = (libc::SYS_name_to_handle_at, file.as_fd().as_raw_fd());
            libc::syscall(number, file, c"".as_ptr(), &raw mut raw, &raw mut mount, libc::AT_EMPTY_PATH)
        };
        if result != 0 {
            return Err(last_errno());
        }
        let bytes = raw.bytes.get(..raw.length as usize).ok_or(Errno::OVERFLOW)?;
        Ok((Self { kind: raw.kind, bytes: bytes.into() }, mount))
    }

    /// An open file of the object, not to be read.
    fn open(&self, mount: impl AsFd) -> Result<OwnedFd, Errno> {
        let mut raw = RawHandle { length: self.bytes.len() as u32, kind: self.kind, bytes: [0; HANDLE_BYTES_MAX] };
        raw.bytes[..self.bytes.len()].copy_from_slice(&self.bytes);
        // SAFETY: the kernel reads the handle, of which it is told how much there is, and keeps no pointer.
        let file = unsafe {
            let (number, mount) = (libc::SYS_open_by_handle_at, mount.as_fd().as_raw_fd());
            libc::syscall(number, mount, &raw const raw, libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC)
        };
        match c_int::try_from(file) {
            // SAFETY: it is a new open file that nobody else owns.
            Ok(file @ 0..) => Ok(unsafe { OwnedFd::from_raw_fd(file) }),
            _ => Err(last_errno()),
        }
    }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use manometer_testing::{Cause, memory_file_system, skip};

    use super::*;

    #[test]
    fn a_handle_is_its_object_until_that_is_removed() {
        if !rustix::process::geteuid().is_root() {
            return skip(Cause::Root, "opening by handle needs root");
        }
        let Some(memory) = memory_file_system() else { return };
        let directory = tempfile::tempdir_in(memory).unwrap();
        let mounts = Mounts::default();
        let object = |name: &str| {
            let path = directory.path().join(name);
            let is_directory = path.is_dir();
            mounts.object(File::open(path).unwrap().into(), is_directory)
        };
        let root = object("");
        assert!(matches!(root, Object::Handle { .. }));
        std::fs::write(directory.path().join("a"), "1").unwrap();
        std::fs::write(directory.path().join("b"), "2").unwrap();
        let (a, b) = (object("a"), object("b"));
        assert!(a.is(&object("a")) && !a.is(&b));
        std::fs::rename(directory.path().join("a"), directory.path().join("c")).unwrap();
        assert_eq!(std::fs::read(path_of(&*a.open().unwrap())).unwrap(), b"1");
        std::fs::remove_file(directory.path().join("c")).unwrap();
        assert_eq!(a.open().unwrap_err(), Errno::STALE);
    }
}
