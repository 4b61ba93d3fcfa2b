//! A directory of the host as what is mounted, with or without a cache of its paths.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rustix::fs::{self, AtFlags, Gid, Mode, OFlags, RenameFlags, Timestamps, Uid};
use rustix::io::Errno;

use super::nodes::ROOT;
use super::path_file_system::{Attribution, FileType, Handle, NewObject, PathFileSystem, SetStat, Space, Stat};
use crate::cache::{Change, Lookup, Options, PathCache};
use crate::credentials::{Credentials, Principal};
use crate::path::{displayed, parent};

/// A directory. With a cache it must change through the mount only: changes made behind its back are not seen.
pub struct DirectoryFileSystem {
    root: OwnedFd,
    cache: Option<Cached>,
    numbers: Mutex<Numbers>,
    counters: Arc<DirectoryCounters>,
}

/// What a mounted directory was asked for, as far as a cache of paths can answer it.
#[derive(Debug, Default)]
pub struct DirectoryCounters {
    stats: AtomicU64,
    stats_from_cache: AtomicU64,
}

impl DirectoryCounters {
    /// How often the attributes of a path were asked for.
    pub fn stats(&self) -> u64 {
        self.stats.load(Ordering::Relaxed)
    }

    /// How often the cache had them, or knew that there is nothing.
    pub fn stats_from_cache(&self) -> u64 {
        self.stats_from_cache.load(Ordering::Relaxed)
    }
}

/// All questions are asked as one principal: the kernel checks permissions.
struct Cached {
    paths: Arc<PathCache<Stat>>,
    everybody: Principal,
}

/// The numbers that the mount gives to objects: several file systems can lie below one directory, and the root is 1.
#[derive(Default)]
struct Numbers(HashMap<(u64, u64), u64>);

impl DirectoryFileSystem {
    /// A directory; `cache` is how large its cache is, or `None` for a mount that asks the directory every time.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(directory: &Path, cache: Option<Options>) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = fs::open(directory, flags, Mode::empty())?;
        let cache = cache.map(|options| {
            let paths = PathCache::new(options);
            Cached { everybody: paths.principal(&Credentials::root()), paths: paths.into() }
        });
        let files = Self { root, cache, numbers: Mutex::default(), counters: Arc::default() };
        let stat = fs::fstat(&files.root)?;
        files.numbers.lock().0.insert((stat.st_dev, stat.st_ino), ROOT);
        Ok(files)
    }

    /// Its counters, which can be read while it is mounted and afterwards.
    pub fn counters(&self) -> Arc<DirectoryCounters> {
        Arc::clone(&self.counters)
    }

    /// What the cache knows of a path: its attributes, or that there is nothing.
    fn cached(&self, cached: &Cached, path: &[u8]) -> Option<Result<Stat, Errno>> {
        let known = match cached.paths.lookup(path, &cached.everybody) {
            Lookup::Hit(stat) => Ok(stat),
            Lookup::Negative | Lookup::Prefix { entry: None, .. } => Err(Errno::NOENT),
            Lookup::Prefix { .. } | Lookup::Miss => return None,
        };
        self.counters.stats_from_cache.fetch_add(1, Ordering::Relaxed);
        Some(known)
    }

    /// Does `act`, which changes what is at these paths.
    fn change<T>(&self, changes: &[Change<'_>], act: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
        match &self.cache {
            Some(cached) => cached.paths.change(changes, act).map_err(|_| Errno::INVAL)?,
            None => act(),
        }
    }

    /// The change of an object and of the times of the directory that it is in.
    fn change_name<T>(
        &self,
        path: &[u8],
        others: &[Change<'_>],
        act: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let above = above(path);
        self.change(&[&[Change::Entry(path), Change::Entry(above)], others].concat(), act)
    }

    fn ask(&self, path: &[u8]) -> Result<Stat, Errno> {
        let stat = fs::statat(&self.root, relative(path), AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(self.stat_of(&stat))
    }

    fn stat_of(&self, stat: &fs::Stat) -> Stat {
        numbered(stat, self.numbers.lock().of(stat))
    }

    /// The object's own change: by its inode if it has several names.
    fn object_changes<'a>(&self, path: &'a [u8], stat: &Stat) -> Vec<Change<'a>> {
        let shared = (stat.links > 1 && stat.file_type != FileType::Directory).then_some(Change::Inode(stat.inode));
        std::iter::once(Change::Entry(path)).chain(shared).collect()
    }

    /// The group that a directory gives to what is created in it, and whether it does.
    fn owner(&self, path: &[u8], by: Attribution) -> Result<(u32, bool), Errno> {
        let directory = self.ask(above(path))?;
        let inherits = directory.mode & 0o2000 != 0;
        Ok((if inherits { directory.gid } else { by.gid }, inherits))
    }
}

impl Numbers {
    fn of(&mut self, stat: &fs::Stat) -> u64 {
        let next = self.0.len() as u64 + ROOT;
        *self.0.entry((stat.st_dev, stat.st_ino)).or_insert(next)
    }
}

impl PathFileSystem for DirectoryFileSystem {
    type Handle = DirectoryHandle;

    fn stat(&self, path: &[u8]) -> Result<Stat, Errno> {
        self.counters.stats.fetch_add(1, Ordering::Relaxed);
        let Some(cached) = &self.cache else { return self.ask(path) };
        if let Some(known) = self.cached(cached, path) {
            return known;
        }
        let ticket = cached.paths.ticket(path);
        let found = self.ask(path);
        match &found {
            Ok(stat) => cached.paths.insert(ticket, path, Some(stat), &cached.everybody),
            Err(Errno::NOENT) => cached.paths.insert(ticket, path, None, &cached.everybody),
            Err(_) => false,
        };
        found
    }

    fn read_link(&self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        fs::readlinkat(&self.root, relative(path), Vec::new()).map(std::ffi::CString::into_bytes)
    }

    fn list(&self, path: &[u8]) -> Result<Vec<(Vec<u8>, u64, FileType)>, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let directory = fs::openat(&self.root, relative(path), flags, Mode::empty())?;
        let mut names = Vec::new();
        for entry in fs::Dir::new(directory)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                // The number is a hint to readers of directories; the true one comes with the look-up.
                names.push((name.to_vec(), entry.ino(), file_type(entry.file_type())));
            }
        }
        Ok(names)
    }

    fn create(&self, path: &[u8], object: NewObject<'_>, by: Attribution) -> Result<Stat, Errno> {
        let (gid, inherits) = self.owner(path, by)?;
        let mode = Mode::from_raw_mode(by.mode.into());
        let name = relative(path);
        self.change_name(path, &[], || {
            let with_mode = match object {
                NewObject::Directory => {
                    fs::mkdirat(&self.root, name, mode)?;
                    let inherited = if inherits { Mode::SGID } else { Mode::empty() };
                    Some(mode | inherited)
                }
                NewObject::Symlink(target) => {
                    fs::symlinkat(target, &self.root, name)?;
                    None
                }
                NewObject::Node(file_type, device) => {
                    fs::mknodat(&self.root, name, raw_type(file_type), mode, device.into())?;
                    Some(mode)
                }
            };
            fs::chownat(
                &self.root,
                name,
                Some(Uid::from_raw(by.uid)),
                Some(Gid::from_raw(gid)),
                AtFlags::SYMLINK_NOFOLLOW,
            )?;
            // After the owner, whose change clears bits, and whatever this process masks.
            with_mode.map_or(Ok(()), |mode| fs::chmodat(&self.root, name, mode, AtFlags::empty()))?;
            self.ask(path)
        })
    }

    fn link(&self, path: &[u8], new: &[u8]) -> Result<Stat, Errno> {
        let stat = self.ask(path)?;
        let changes = [self.object_changes(path, &stat), vec![Change::Inode(stat.inode)]].concat();
        self.change_name(new, &changes, || {
            fs::linkat(&self.root, relative(path), &self.root, relative(new), AtFlags::empty())?;
            self.ask(new)
        })
    }

    fn unlink(&self, path: &[u8]) -> Result<(), Errno> {
        let stat = self.ask(path)?;
        self.change_name(path, &self.object_changes(path, &stat), || {
            fs::unlinkat(&self.root, relative(path), AtFlags::empty())
        })
    }

    fn remove_directory(&self, path: &[u8]) -> Result<(), Errno> {
        self.change_name(path, &[Change::Subtree(path)], || {
            fs::unlinkat(&self.root, relative(path), AtFlags::REMOVEDIR)
        })
    }

    fn rename(&self, from: &[u8], to: &[u8], keeps: bool) -> Result<(), Errno> {
        let moved = self.ask(from)?;
        let mut changes = self.object_changes(from, &moved);
        changes.push(Change::Entry(above(from)));
        if let Ok(replaced) = self.ask(to) {
            changes.extend(self.object_changes(to, &replaced));
        }
        if moved.file_type == FileType::Directory {
            changes.extend([Change::Subtree(from), Change::Subtree(to)]);
        }
        let flags = if keeps { RenameFlags::NOREPLACE } else { RenameFlags::empty() };
        self.change_name(to, &changes, || {
            fs::renameat_with(&self.root, relative(from), &self.root, relative(to), flags)
        })
    }

    fn set(&self, path: &[u8], set: &SetStat) -> Result<Stat, Errno> {
        let stat = self.ask(path)?;
        let mut changes = self.object_changes(path, &stat);
        if stat.file_type == FileType::Directory {
            changes.push(Change::Permission(path));
        }
        let name = relative(path);
        self.change(&changes, || {
            if let Some(size) = set.size {
                fs::ftruncate(fs::openat(&self.root, name, OFlags::WRONLY | OFlags::NOFOLLOW, Mode::empty())?, size)?;
            }
            if set.uid.is_some() || set.gid.is_some() {
                let (uid, gid) = (set.uid.map(Uid::from_raw), set.gid.map(Gid::from_raw));
                fs::chownat(&self.root, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)?;
            }
            if let Some(mode) = set.mode {
                fs::chmodat(&self.root, name, Mode::from_raw_mode(mode.into()), AtFlags::empty())?;
            }
            if set.accessed.is_some() || set.modified.is_some() {
                let times =
                    Timestamps { last_access: timespec(set.accessed), last_modification: timespec(set.modified) };
                fs::utimensat(&self.root, name, &times, AtFlags::SYMLINK_NOFOLLOW)?;
            }
            self.ask(path)
        })
    }

    fn open(&self, path: &[u8], writes: bool) -> Result<DirectoryHandle, Errno> {
        let access = if writes { OFlags::RDWR } else { OFlags::RDONLY };
        let file = fs::openat(&self.root, relative(path), access | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())?;
        let stat = self.stat_of(&fs::fstat(&file)?);
        let cache = self.cache.as_ref().map(|cached| cached.paths.clone());
        Ok(DirectoryHandle { file: file.into(), inode: stat.inode, path: path.into(), cache })
    }

    fn space(&self) -> Result<Space, Errno> {
        let space = fs::fstatvfs(&self.root)?;
        Ok(Space {
            block_size: space.f_frsize as u32,
            blocks: space.f_blocks,
            free: space.f_bfree,
            available: space.f_bavail,
            files: space.f_files,
            files_free: space.f_ffree,
        })
    }
}

fn numbered(stat: &fs::Stat, inode: u64) -> Stat {
    Stat {
        inode,
        file_type: file_type(fs::FileType::from_raw_mode(stat.st_mode)),
        mode: (stat.st_mode & 0o7777) as u16,
        links: u32::try_from(stat.st_nlink).unwrap_or(u32::MAX),
        uid: stat.st_uid,
        gid: stat.st_gid,
        device: stat.st_rdev as u32,
        size: stat.st_size as u64,
        blocks: stat.st_blocks as u64,
        accessed: time(stat.st_atime, stat.st_atime_nsec),
        modified: time(stat.st_mtime, stat.st_mtime_nsec),
        changed: time(stat.st_ctime, stat.st_ctime_nsec),
    }
}

/// The path as the directory's file descriptor takes it.
fn relative(path: &[u8]) -> &[u8] {
    match path {
        b"/" => b".",
        _ => &path[1..],
    }
}

fn above(path: &[u8]) -> &[u8] {
    displayed(parent(path))
}

fn file_type(file_type: fs::FileType) -> FileType {
    match file_type {
        fs::FileType::Directory => FileType::Directory,
        fs::FileType::Symlink => FileType::Symlink,
        fs::FileType::Fifo => FileType::Pipe,
        fs::FileType::Socket => FileType::Socket,
        fs::FileType::CharacterDevice => FileType::CharacterDevice,
        fs::FileType::BlockDevice => FileType::BlockDevice,
        fs::FileType::RegularFile | fs::FileType::Unknown => FileType::Regular,
    }
}

fn raw_type(file_type: FileType) -> fs::FileType {
    match file_type {
        FileType::Directory => fs::FileType::Directory,
        FileType::Symlink => fs::FileType::Symlink,
        FileType::Regular => fs::FileType::RegularFile,
        FileType::Pipe => fs::FileType::Fifo,
        FileType::Socket => fs::FileType::Socket,
        FileType::CharacterDevice => fs::FileType::CharacterDevice,
        FileType::BlockDevice => fs::FileType::BlockDevice,
    }
}

fn time(seconds: i64, nanoseconds: u64) -> SystemTime {
    let fraction = Duration::from_nanos(nanoseconds);
    let distance = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 { UNIX_EPOCH - distance + fraction } else { UNIX_EPOCH + distance + fraction }
}

/// A time to set, or that it stays.
fn timespec(time: Option<SystemTime>) -> fs::Timespec {
    let Some(time) = time else { return fs::Timespec { tv_sec: 0, tv_nsec: fs::UTIME_OMIT } };
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => fs::Timespec { tv_sec: after.as_secs() as i64, tv_nsec: after.subsec_nanos().into() },
        Err(before) => {
            let distance = before.duration();
            let borrow = i64::from(distance.subsec_nanos() > 0);
            let nanoseconds = (1_000_000_000 - distance.subsec_nanos()) % 1_000_000_000;
            fs::Timespec { tv_sec: -(distance.as_secs() as i64) - borrow, tv_nsec: nanoseconds.into() }
        }
    }
}

fn errno(error: io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error)
}

/// An open file of the directory.
pub struct DirectoryHandle {
    file: File,
    inode: u64,
    path: Box<[u8]>,
    cache: Option<Arc<PathCache<Stat>>>,
}

impl DirectoryHandle {
    /// Size and times change with the content.
    fn change<T>(&self, act: impl FnOnce() -> T) -> T {
        let changes = [Change::Entry(&self.path), Change::Inode(self.inode)];
        // The path is canonical: it was opened. What moved meanwhile was dropped from the cache then.
        let _open = self.cache.as_ref().and_then(|cache| cache.begin_change(&changes).ok());
        act()
    }
}

impl Handle for DirectoryHandle {
    fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; length];
        let mut filled = 0;
        while filled < length {
            match self.file.read_at(&mut bytes[filled..], offset + filled as u64).map_err(errno)? {
                0 => break,
                read => filled += read,
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> Result<usize, Errno> {
        self.change(|| self.file.write_at(bytes, offset).map_err(errno))
    }

    fn sync(&self, data_only: bool) -> Result<(), Errno> {
        if data_only { self.file.sync_data() } else { self.file.sync_all() }.map_err(errno)
    }

    fn stat(&self) -> Result<Stat, Errno> {
        Ok(numbered(&fs::fstat(&self.file)?, self.inode))
    }

    fn set_size(&self, size: u64) -> Result<(), Errno> {
        self.change(|| fs::ftruncate(&self.file, size))
    }
}
