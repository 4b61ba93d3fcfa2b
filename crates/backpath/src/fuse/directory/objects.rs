//! Objects of the host by open files, and their numbers.

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};

use rustix::fs::{self, AtFlags, Mode, OFlags, StatxFlags};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::super::node_file_system::{FileType, Stat};
use super::super::nodes::ROOT;
use super::convert::numbered;

/// Numbers from here on stand for objects of other mounts and other file systems below the directory.
const FOREIGN: u64 = 1 << 63;

/// Where an inode is: a mount, and a device. One file system in two places is two: what may be done differs by the mount.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Site {
    mount: u64,
    device: (u32, u32),
}

impl Site {
    pub fn of(found: &fs::Statx) -> Self {
        Self { mount: found.stx_mnt_id, device: (found.stx_dev_major, found.stx_dev_minor) }
    }
}

/// The numbers of objects. No two objects have one number at the same time, as long as both exist.
pub(super) struct Numbers {
    root: (Site, u64),
    foreign: HashMap<(Site, u64), u64>,
}

impl Numbers {
    pub fn new(root: &fs::Statx) -> Self {
        Self { root: (Site::of(root), root.stx_ino), foreign: HashMap::new() }
    }

    /// At the root's site it is the inode's, but that the root is 1 and changes places with what has this number.
    pub fn of(&mut self, site: Site, inode: u64) -> u64 {
        let (root_site, root) = self.root;
        match inode {
            _ if site != root_site || inode >= FOREIGN => {
                let next = FOREIGN + self.foreign.len() as u64;
                *self.foreign.entry((site, inode)).or_insert(next)
            }
            _ if inode == root => ROOT,
            ROOT => root,
            _ => inode,
        }
    }
}

/// A handle of what has this name: not to be read, and not following a link.
pub(super) fn held(directory: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    fs::openat(directory, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// The object of a handle as a path that leads nowhere else.
pub(super) fn path_of(object: impl AsFd) -> String {
    format!("/proc/self/fd/{}", object.as_fd().as_raw_fd())
}

/// What the host says of an object.
///
/// # Errors
/// `ENOSYS` before Linux 5.8, which does not say of which mount it is.
pub(super) fn asked(object: impl AsFd) -> Result<fs::Statx, Errno> {
    let found = fs::statx(object, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID)?;
    if found.stx_mask & StatxFlags::MNT_ID.bits() == 0 { Err(Errno::NOSYS) } else { Ok(found) }
}

/// Its attributes. The kernel judges by the mode alone: what has an access control list is its owner's and root's.
pub(super) fn stat_of(object: impl AsFd, number: u64) -> Result<Stat, Errno> {
    Ok(shown(&object, &asked(&object)?, number))
}

/// What was asked already, as [`stat_of`] has it.
pub(super) fn shown(object: impl AsFd, found: &fs::Statx, number: u64) -> Stat {
    let mut stat = numbered(found, number);
    if stat.file_type != FileType::Symlink && has_list(&path_of(object)) {
        stat.mode &= 0o7700;
    }
    stat
}

/// Every list is too large for one byte. Where nobody can tell, there may be one.
fn has_list(path: &str) -> bool {
    let size = fs::getxattr(path, "system.posix_acl_access", &mut [0_u8; 1]);
    !matches!(size, Err(Errno::NODATA | Errno::OPNOTSUPP))
}

/// Lets the process hold as many handles as it may.
pub(super) fn raise_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // A process that may not has the limit that it had.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
