//! The kernel's questions to a file system.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    BsdFileFlags, CopyFileRangeFlags, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    IoctlFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use parking_lot::Mutex;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::node_file_system::{Attribution, FileType, Handle, NewObject, NodeFileSystem, SetStat, Stat, Writing};
use crate::path::NAME_MAX;

type Listing = Arc<Vec<(Vec<u8>, u64, FileType)>>;
/// Open files by handle.
type OpenFiles<H> = HashMap<u64, Arc<H>>;

pub(super) struct Adapter<F: NodeFileSystem> {
    files: F,
    kernel_cache: Duration,
    open: Mutex<OpenFiles<F::Handle>>,
    listings: Mutex<HashMap<u64, Listing>>,
    last_handle: AtomicU64,
}

impl<F: NodeFileSystem> Adapter<F> {
    pub fn new(files: F, kernel_cache: Duration) -> Self {
        Self { files, kernel_cache, open: Mutex::default(), listings: Mutex::default(), last_handle: AtomicU64::new(0) }
    }

    fn handle(&self, handle: FileHandle) -> Result<Arc<F::Handle>, Errno> {
        self.open.lock().get(&handle.0).map(Arc::clone).ok_or(Errno::BADF)
    }

    /// By the open file if the kernel names one.
    fn stat(&self, number: INodeNo, handle: Option<FileHandle>) -> Result<Stat, Errno> {
        match handle.and_then(|handle| self.handle(handle).ok()) {
            Some(handle) => handle.stat(),
            None => self.files.stat(number.0),
        }
    }

    /// A size is set through the open file if the kernel names one.
    fn set(&self, number: INodeNo, handle: Option<FileHandle>, mut set: SetStat) -> Result<Stat, Errno> {
        let handle = handle.and_then(|handle| self.handle(handle).ok());
        let Some(handle) = handle else { return self.files.set(number.0, &set) };
        if let Some(size) = set.size.take() {
            handle.set_size(size, set.clears_set_id)?;
        }
        if set.is_empty() { handle.stat() } else { self.files.set(number.0, &set) }
    }

    fn listing(&self, number: INodeNo, handle: FileHandle, begins: bool) -> Result<Listing, Errno> {
        if begins {
            let names = Arc::new(self.files.list(number.0)?);
            self.listings.lock().insert(handle.0, names);
        }
        self.listings.lock().get(&handle.0).cloned().ok_or(Errno::BADF)
    }

    fn create_at(&self, parent: INodeNo, name: &OsStr, object: NewObject<'_>, by: Attribution) -> Result<Stat, Errno> {
        self.files.create(parent.0, checked(name)?, object, by)
    }

    fn keep_open(&self, handle: F::Handle) -> FileHandle {
        let next = self.last_handle.fetch_add(1, Ordering::Relaxed) + 1;
        self.open.lock().insert(next, Arc::new(handle));
        FileHandle(next)
    }

    /// Creates a file and opens it, unless there is one: then the kernel looks again, and opens it if it may be.
    fn create_file(
        &self,
        parent: INodeNo,
        name: &OsStr,
        by: Attribution,
        flags: i32,
    ) -> Result<(Stat, FileHandle), Errno> {
        let created = self.files.create_file(parent.0, checked(name)?, by, writes(flags));
        let (stat, handle) = created.map_err(|errno| match errno {
            Errno::EXIST if !has(flags, OFlags::EXCL) => Errno::STALE,
            _ => errno,
        })?;
        Ok((stat, self.keep_open(handle)))
    }

    /// Where others change files, the kernel keeps no copy of what is appended: it would be in the wrong place.
    fn how(&self, flags: i32) -> FopenFlags {
        if appends(flags) && self.kernel_cache.is_zero() { FopenFlags::FOPEN_DIRECT_IO } else { FopenFlags::empty() }
    }

    fn entry(&self, reply: ReplyEntry, result: Result<Stat, Errno>) {
        match result {
            Ok(stat) => reply.entry(&self.kernel_cache, &attributes(&stat), Generation(stat.generation)),
            Err(errno) => reply.error(code(errno)),
        }
    }
}

impl<F: NodeFileSystem> Filesystem for Adapter<F> {
    /// What the kernel keeps of a file's content ends with a change that its attributes show.
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // A kernel before 3.6 keeps it until the file is opened again.
        let _ = config.add_capabilities(InitFlags::FUSE_AUTO_INVAL_DATA);
        // A kernel before 2.6.31 masks modes itself, also where a directory's default list says who may.
        let _ = config.add_capabilities(InitFlags::FUSE_DONT_MASK);
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.entry(reply, checked(name).and_then(|name| self.files.look_up(parent.0, name)));
    }

    fn forget(&self, _request: &Request, number: INodeNo, lookups: u64) {
        self.files.forget(number.0, lookups);
    }

    fn getattr(&self, _request: &Request, number: INodeNo, handle: Option<FileHandle>, reply: ReplyAttr) {
        match self.stat(number, handle) {
            Ok(stat) => reply.attr(&self.kernel_cache, &attributes(&stat)),
            Err(errno) => reply.error(code(errno)),
        }
    }

    fn setattr(
        &self,
        request: &Request,
        number: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _changed: Option<SystemTime>,
        handle: Option<FileHandle>,
        _created: Option<SystemTime>,
        _flags_changed: Option<SystemTime>,
        _backed_up: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mode = mode.map(|mode| (mode & 0o7777) as u16);
        let (accessed, modified) = (accessed.map(time), modified.map(time));
        let set = SetStat { mode, uid, gid, size, clears_set_id: clears_set_id(request), accessed, modified };
        match self.set(number, handle, set) {
            Ok(stat) => reply.attr(&self.kernel_cache, &attributes(&stat)),
            Err(errno) => reply.error(code(errno)),
        }
    }

    fn readlink(&self, _request: &Request, number: INodeNo, reply: ReplyData) {
        match self.files.read_link(number.0) {
            Ok(target) => reply.data(&target),
            Err(errno) => reply.error(code(errno)),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        device: u32,
        reply: ReplyEntry,
    ) {
        let object = NewObject::Node(type_of_mode(mode), device);
        let made = self.create_at(parent, name, object, attribution(request, mode, umask));
        self.entry(reply, made);
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, reply: ReplyEntry) {
        let made = self.create_at(parent, name, NewObject::Directory, attribution(request, mode, umask));
        self.entry(reply, made);
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let object = NewObject::Symlink(target.as_os_str().as_bytes());
        let made = self.create_at(parent, name, object, attribution(request, 0o777, 0));
        self.entry(reply, made);
    }

    fn unlink(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(reply, checked(name).and_then(|name| self.files.unlink(parent.0, name)));
    }

    fn rmdir(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(reply, checked(name).and_then(|name| self.files.remove_directory(parent.0, name)));
    }

    fn rename(
        &self,
        _request: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let rename = || {
            let keeps = flags == RenameFlags::RENAME_NOREPLACE;
            if !flags.is_empty() && !keeps {
                return Err(Errno::INVAL);
            }
            self.files.rename((parent.0, checked(name)?), (new_parent.0, checked(new_name)?), keeps)
        };
        empty(reply, rename());
    }

    fn link(&self, _request: &Request, number: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.entry(reply, checked(name).and_then(|name| self.files.link(number.0, parent.0, name)));
    }

    fn open(&self, _request: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        match self.files.open(number.0, writes(flags.0)) {
            Ok(handle) => reply.opened(self.keep_open(handle), self.how(flags.0)),
            Err(errno) => reply.error(code(errno)),
        }
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        match self.create_file(parent, name, attribution(request, mode, umask), flags) {
            Ok((stat, handle)) => {
                let generation = Generation(stat.generation);
                reply.created(&self.kernel_cache, &attributes(&stat), generation, handle, self.how(flags));
            }
            Err(errno) => reply.error(code(errno)),
        }
    }

    fn read(
        &self,
        _request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.handle(handle).and_then(|handle| handle.read(offset, size as usize)) {
            Ok(bytes) => reply.data(&bytes),
            Err(errno) => reply.error(code(errno)),
        }
    }

    fn write(
        &self,
        request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: u64,
        bytes: &[u8],
        write_flags: WriteFlags,
        flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let offset = (!appends(flags.0)).then_some(offset);
        let clears_set_id = write_flags.contains(WriteFlags::FUSE_WRITE_KILL_SUIDGID) || clears_set_id(request);
        let how = Writing { offset, clears_set_id };
        match self.handle(handle).and_then(|handle| handle.write(bytes, how)) {
            Ok(written) => reply.written(written as u32),
            Err(errno) => reply.error(code(errno)),
        }
    }

    fn flush(&self, _request: &Request, _number: INodeNo, _handle: FileHandle, _owner: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn release(
        &self,
        _request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.open.lock().remove(&handle.0);
        reply.ok();
    }

    fn fsync(&self, _request: &Request, _number: INodeNo, handle: FileHandle, data_only: bool, reply: ReplyEmpty) {
        empty(reply, self.handle(handle).and_then(|handle| handle.sync(data_only)));
    }

    /// The names are read where a listing begins, so that those who change the directory meanwhile change no place in it.
    fn opendir(&self, _request: &Request, number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        match self.files.stat(number.0) {
            Ok(_) => {
                let next = self.last_handle.fetch_add(1, Ordering::Relaxed) + 1;
                self.listings.lock().insert(next, Listing::default());
                reply.opened(FileHandle(next), FopenFlags::empty());
            }
            Err(errno) => reply.error(code(errno)),
        }
    }

    fn readdir(&self, _request: &Request, number: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let names = match self.listing(number, handle, offset == 0) {
            Ok(names) => names,
            Err(errno) => return reply.error(code(errno)),
        };
        let dots = [(b".".to_vec(), number.0, FileType::Directory), (b"..".to_vec(), number.0, FileType::Directory)];
        let all = dots.iter().chain(names.iter()).enumerate().skip(usize::try_from(offset).unwrap_or(usize::MAX));
        for (place, (name, inode, file_type)) in all {
            if reply.add(INodeNo(*inode), place as u64 + 1, kind(*file_type), OsStr::from_bytes(name)) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(
        &self,
        _request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.listings.lock().remove(&handle.0);
        reply.ok();
    }

    fn fsyncdir(&self, _request: &Request, _number: INodeNo, _handle: FileHandle, _data_only: bool, reply: ReplyEmpty) {
        reply.error(code(Errno::NOSYS));
    }

    fn getxattr(&self, _request: &Request, _number: INodeNo, _name: &OsStr, _size: u32, reply: ReplyXattr) {
        reply.error(code(Errno::NOSYS));
    }

    fn listxattr(&self, _request: &Request, _number: INodeNo, _size: u32, reply: ReplyXattr) {
        reply.error(code(Errno::NOSYS));
    }

    fn ioctl(
        &self,
        _request: &Request,
        _number: INodeNo,
        _handle: FileHandle,
        _flags: IoctlFlags,
        _command: u32,
        _input: &[u8],
        _output_size: u32,
        reply: ReplyIoctl,
    ) {
        reply.error(code(Errno::NOTTY));
    }

    fn copy_file_range(
        &self,
        _request: &Request,
        _from: INodeNo,
        _from_handle: FileHandle,
        _from_offset: u64,
        _to: INodeNo,
        _to_handle: FileHandle,
        _to_offset: u64,
        _length: u64,
        _flags: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        reply.error(code(Errno::NOSYS));
    }

    fn statfs(&self, _request: &Request, _number: INodeNo, reply: ReplyStatfs) {
        match self.files.space() {
            Ok(space) => reply.statfs(
                space.blocks,
                space.free,
                space.available,
                space.files,
                space.files_free,
                space.block_size,
                NAME_MAX as u32,
                space.block_size,
            ),
            Err(errno) => reply.error(code(errno)),
        }
    }
}

fn checked(name: &OsStr) -> Result<&[u8], Errno> {
    if name.len() > NAME_MAX { Err(Errno::NAMETOOLONG) } else { Ok(name.as_bytes()) }
}

fn empty(reply: ReplyEmpty, done: Result<(), Errno>) {
    match done {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(code(errno)),
    }
}

fn code(errno: Errno) -> fuser::Errno {
    fuser::Errno::from_i32(errno.raw_os_error())
}

fn attribution(request: &Request, mode: u32, umask: u32) -> Attribution {
    let bits = |mode: u32| (mode & 0o7777) as u16;
    Attribution { uid: request.uid(), gid: request.gid(), mode: bits(mode), mask: bits(umask) }
}

/// The kernel does it by the mode that it was told last, which may be older than the bits.
fn clears_set_id(request: &Request) -> bool {
    request.uid() != 0
}

fn has(flags: i32, flag: OFlags) -> bool {
    OFlags::from_bits_retain(flags as u32).contains(flag)
}

fn appends(flags: i32) -> bool {
    has(flags, OFlags::APPEND)
}

fn writes(flags: i32) -> bool {
    OFlags::from_bits_retain(flags as u32) & OFlags::ACCMODE != OFlags::RDONLY
}

#[expect(clippy::disallowed_methods, reason = "the kernel asks for the present time, to be stored")]
fn time(time: TimeOrNow) -> SystemTime {
    match time {
        TimeOrNow::SpecificTime(time) => specific(time),
        TimeOrNow::Now => SystemTime::now(),
    }
}

/// A time before 1970 as it was set: fuser counts its fraction of a second backwards.
fn specific(time: SystemTime) -> SystemTime {
    let Err(before) = time.duration_since(UNIX_EPOCH) else { return time };
    let distance = before.duration();
    UNIX_EPOCH - Duration::from_secs(distance.as_secs()) + Duration::from_nanos(distance.subsec_nanos().into())
}

fn type_of_mode(mode: u32) -> FileType {
    match rustix::fs::FileType::from_raw_mode(mode) {
        rustix::fs::FileType::Fifo => FileType::Pipe,
        rustix::fs::FileType::Socket => FileType::Socket,
        rustix::fs::FileType::CharacterDevice => FileType::CharacterDevice,
        rustix::fs::FileType::BlockDevice => FileType::BlockDevice,
        _ => FileType::Regular,
    }
}

fn kind(file_type: FileType) -> fuser::FileType {
    match file_type {
        FileType::Directory => fuser::FileType::Directory,
        FileType::Symlink => fuser::FileType::Symlink,
        FileType::Regular => fuser::FileType::RegularFile,
        FileType::Pipe => fuser::FileType::NamedPipe,
        FileType::Socket => fuser::FileType::Socket,
        FileType::CharacterDevice => fuser::FileType::CharDevice,
        FileType::BlockDevice => fuser::FileType::BlockDevice,
    }
}

fn attributes(stat: &Stat) -> FileAttr {
    FileAttr {
        ino: INodeNo(stat.inode),
        size: stat.size,
        blocks: stat.blocks,
        atime: stat.accessed,
        mtime: stat.modified,
        ctime: stat.changed,
        crtime: stat.changed,
        kind: kind(stat.file_type),
        perm: stat.mode,
        nlink: stat.links,
        uid: stat.uid,
        gid: stat.gid,
        rdev: stat.device,
        blksize: 4096,
        flags: 0,
    }
}
