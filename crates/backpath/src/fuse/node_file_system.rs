//! What is mounted: a file system that is asked by the kernel's numbers.

use std::time::SystemTime;

use rustix::io::Errno;

use crate::attributes::{Entry, Kind};
use crate::credentials::Credentials;

/// What an object is, in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileType {
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A regular file.
    Regular,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A character device.
    CharacterDevice,
    /// A block device.
    BlockDevice,
}

/// The attributes of an object as `stat(2)` has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// Its number, the same for all names.
    pub inode: u64,
    /// Tells objects apart that have the number one after another.
    pub generation: u64,
    /// What it is.
    pub file_type: FileType,
    /// The lower twelve bits of its mode.
    pub mode: u16,
    /// Names.
    pub links: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// The device that a device file stands for.
    pub device: u32,
    /// Bytes.
    pub size: u64,
    /// Blocks of 512 bytes.
    pub blocks: u64,
    /// Last access.
    pub accessed: SystemTime,
    /// Last change of the content.
    pub modified: SystemTime,
    /// Last change of the attributes.
    pub changed: SystemTime,
}

/// The kernel checks permissions of a mount, so the cache's own check lets through.
impl Entry for Stat {
    fn kind(&self) -> Kind {
        match self.file_type {
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Symlink,
            _ => Kind::File,
        }
    }

    fn target(&self) -> Option<&[u8]> {
        None
    }

    fn may_search(&self, _credentials: &Credentials) -> bool {
        true
    }

    fn inode(&self) -> u64 {
        self.inode
    }

    fn links(&self) -> u32 {
        self.links
    }
}

/// Who creates something, and with which mode.
#[derive(Debug, Clone, Copy)]
pub struct Attribution {
    /// Owner.
    pub uid: u32,
    /// Group, unless the directory gives its own.
    pub gid: u32,
    /// Mode, as it was asked for.
    pub mode: u16,
    /// The bits that the process masks, unless the directory says who may use what is created in it.
    pub mask: u16,
}

/// How bytes are written.
#[derive(Debug, Clone, Copy)]
pub struct Writing {
    /// Where they begin, or `None` for the end, wherever others have moved it.
    pub offset: Option<u64>,
    /// Whether the file loses its set-user-ID and set-group-ID bits, as it does when its writer has no rights over it.
    pub clears_set_id: bool,
}

/// What is created.
#[derive(Debug, Clone, Copy)]
pub enum NewObject<'a> {
    /// A file, pipe, socket or device.
    Node(FileType, u32),
    /// A directory.
    Directory,
    /// A symbolic link to this target.
    Symlink(&'a [u8]),
}

/// Attributes to change; what is `None` stays.
#[derive(Debug, Clone, Copy, Default)]
pub struct SetStat {
    /// Mode.
    pub mode: Option<u16>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Bytes.
    pub size: Option<u64>,
    /// Whether a new size clears set-user-ID and set-group-ID bits, as [`Writing::clears_set_id`].
    pub clears_set_id: bool,
    /// Last access.
    pub accessed: Option<SystemTime>,
    /// Last change of the content.
    pub modified: Option<SystemTime>,
}

impl SetStat {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        let Self { mode, uid, gid, size, clears_set_id: _, accessed, modified } = self;
        mode.is_none() && uid.or(*gid).is_none() && size.is_none() && accessed.or(*modified).is_none()
    }
}

/// Room, in blocks.
#[derive(Debug, Clone, Copy)]
pub struct Space {
    /// Bytes of a block.
    pub block_size: u32,
    /// All blocks.
    pub blocks: u64,
    /// Free blocks.
    pub free: u64,
    /// Free blocks that users other than root may take.
    pub available: u64,
    /// Objects.
    pub files: u64,
    /// Objects that can be added.
    pub files_free: u64,
}

/// An open file.
pub trait Handle: Send + Sync + 'static {
    /// Bytes from an offset; fewer at the end.
    fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, Errno>;
    /// Writes bytes; returns how many.
    fn write(&self, bytes: &[u8], how: Writing) -> Result<usize, Errno>;
    /// Makes the content durable.
    fn sync(&self, data_only: bool) -> Result<(), Errno>;
    /// The file's attributes, also when it has no name any more.
    fn stat(&self) -> Result<Stat, Errno>;
    /// Changes its size, also when it has no name any more.
    fn set_size(&self, size: u64, clears_set_id: bool) -> Result<(), Errno>;
}

/// A file system whose objects are asked for by number. The root is 1; every other object gets its number when a name is
/// looked up or made, and keeps it until as many look-ups are forgotten. Permissions are the caller's business.
pub trait NodeFileSystem: Send + Sync + 'static {
    /// Its open files.
    type Handle: Handle;

    /// What has this name in a directory; this is one look-up.
    fn look_up(&self, directory: u64, name: &[u8]) -> Result<Stat, Errno>;
    /// As many look-ups of an object are forgotten.
    fn forget(&self, number: u64, lookups: u64);
    /// The attributes of an object.
    fn stat(&self, number: u64) -> Result<Stat, Errno>;
    /// Where a symbolic link leads.
    fn read_link(&self, number: u64) -> Result<Vec<u8>, Errno>;
    /// Names in a directory with inodes and types, without `.` and `..`.
    fn list(&self, number: u64) -> Result<Vec<(Vec<u8>, u64, FileType)>, Errno>;
    /// Creates a file and opens it, for reading or also for writing; this is one look-up.
    fn create_file(
        &self,
        directory: u64,
        name: &[u8],
        by: Attribution,
        writes: bool,
    ) -> Result<(Stat, Self::Handle), Errno>;
    /// Creates an object; this is one look-up.
    fn create(&self, directory: u64, name: &[u8], object: NewObject<'_>, by: Attribution) -> Result<Stat, Errno>;
    /// Gives an object another name; this is one look-up.
    fn link(&self, number: u64, directory: u64, name: &[u8]) -> Result<Stat, Errno>;
    /// Removes a name that is not a directory.
    fn unlink(&self, directory: u64, name: &[u8]) -> Result<(), Errno>;
    /// Removes an empty directory.
    fn remove_directory(&self, directory: u64, name: &[u8]) -> Result<(), Errno>;
    /// Renames; with `keeps` an object that has the new name stays, and it is an error.
    fn rename(&self, from: (u64, &[u8]), to: (u64, &[u8]), keeps: bool) -> Result<(), Errno>;
    /// Changes attributes.
    fn set(&self, number: u64, set: &SetStat) -> Result<Stat, Errno>;
    /// Opens a file for reading, writing or both.
    fn open(&self, number: u64, writes: bool) -> Result<Self::Handle, Errno>;
    /// Room on the disk.
    fn space(&self) -> Result<Space, Errno>;
}
