//! What this thread may do, and as whom, for one call to the host.

use std::cell::Cell;

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::umask;
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags, capabilities, set_capabilities, unshare_unsafe};

use super::super::node_file_system::Attribution;

thread_local! {
    /// A mask of modes is the whole process's, unless a thread has its own.
    static HAS_OWN_MASK: Cell<bool> = const { Cell::new(false) };
}

/// Does `act`, which creates something. It is the caller's from its first moment, with the mode that the caller's mask leaves,
/// or the directory's default list where it has one. What the thread may do otherwise stays.
///
/// # Errors
/// `EPERM` if this process may not create for the caller, and the errors of `act`.
pub(super) fn as_caller<T>(by: Attribution, act: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
    let _mask = Mask::set(by.mask)?;
    let ids = file_system_ids();
    if (by.uid, by.gid) == ids {
        return act();
    }
    let before = capabilities(None)?;
    let _rights = Rights { ids: Some(ids), capabilities: before };
    set_file_system_ids((by.uid, by.gid));
    if file_system_ids() != (by.uid, by.gid) {
        return Err(Errno::PERM);
    }
    // They went with root's number, as far as they are about files.
    set_capabilities(None, before)?;
    act()
}

/// Does `act`, a change of a file's content. With `clears` the file loses its set-user-ID and set-group-ID bits, as it does by
/// a user without rights.
///
/// # Errors
/// Those of `act`.
pub(super) fn clearing_set_id<T>(clears: bool, act: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
    if !clears {
        return act();
    }
    let before = capabilities(None)?;
    let _rights = Rights { ids: None, capabilities: before };
    set_capabilities(None, CapabilitySets { effective: before.effective - CapabilitySet::FSETID, ..before })?;
    act()
}

/// A mask of this thread's, which ends when it is dropped.
struct Mask(Mode);

impl Mask {
    fn set(mask: u16) -> Result<Self, Errno> {
        if !HAS_OWN_MASK.get() {
            // SAFETY: no file is shared less, only the mask, the root and the working directory, which nobody here changes.
            unsafe { unshare_unsafe(UnshareFlags::FS) }?;
            HAS_OWN_MASK.set(true);
        }
        Ok(Self(umask(Mode::from_raw_mode(mask.into()))))
    }
}

impl Drop for Mask {
    fn drop(&mut self) {
        umask(self.0);
    }
}

/// What this thread had before, and has again when this is dropped.
struct Rights {
    ids: Option<(u32, u32)>,
    capabilities: CapabilitySets,
}

impl Drop for Rights {
    fn drop(&mut self) {
        if let Some(ids) = self.ids {
            set_file_system_ids(ids);
        }
        let restored = set_capabilities(None, self.capabilities);
        debug_assert!(restored.is_ok(), "they are permitted still");
    }
}

/// The user and the group that the kernel takes this thread for when it comes to files.
fn file_system_ids() -> (u32, u32) {
    // No user and no group has this number, so that nothing is set.
    set_file_system_ids((u32::MAX, u32::MAX))
}

/// Sets both where that is allowed; returns the ones before.
fn set_file_system_ids((uid, gid): (u32, u32)) -> (u32, u32) {
    // SAFETY: they take and return numbers, and change this thread alone. The group comes first: a user without rights may
    // not set it.
    let (before_gid, before_uid) = unsafe { (libc::setfsgid(gid), libc::setfsuid(uid)) };
    (before_uid.cast_unsigned(), before_gid.cast_unsigned())
}
