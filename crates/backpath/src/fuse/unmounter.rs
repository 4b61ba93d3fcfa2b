//! The end of a mount.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use fuser::SessionUnmounter;
use rustix::io::Errno;

/// Unmounts a file system while another thread serves it.
pub struct Unmounter {
    session: SessionUnmounter,
    target: CString,
}

/// What became of a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmounted {
    /// It is gone.
    Gone,
    /// Somebody uses it, and it stays as it is.
    InUse,
}

impl Unmounter {
    pub(super) fn new(session: SessionUnmounter, target: &Path) -> io::Result<Self> {
        Ok(Self { session, target: CString::new(target.as_os_str().as_bytes())? })
    }

    /// Unmounts, unless somebody uses the mount. Nothing happens if it is not mounted any more.
    ///
    /// # Errors
    /// If the kernel refuses it for another reason.
    pub fn unmount(&mut self) -> io::Result<Unmounted> {
        match self.session.unmount() {
            Ok(()) => Ok(Unmounted::Gone),
            Err(error) if error.raw_os_error() == Some(Errno::BUSY.raw_os_error()) => Ok(Unmounted::InUse),
            Err(error) => Err(error),
        }
    }

    /// Takes a mount that is in use out of the directory tree. It is served until its last user leaves it.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn detach(&self) -> io::Result<()> {
        let flags = libc::MNT_DETACH | libc::UMOUNT_NOFOLLOW;
        // SAFETY: the target is a string of C that lives as long as the call, which keeps nothing of it.
        let result = unsafe { libc::umount2(self.target.as_ptr(), flags) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}
