//! A directory of the host as what is mounted, with or without a cache of its paths.

mod caller;
mod convert;
mod handle;
mod known;
mod object;
mod objects;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rustix::fs::{self, AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, Timestamps, Uid};
use rustix::io::{Errno, fcntl_dupfd_cloexec};

use self::caller::{as_caller, clearing_set_id};
use self::convert::{file_type, raw_type, timespec};
pub use self::handle::DirectoryHandle;
use self::known::Known;
use self::objects::{Numbers, Site, asked, held, path_of, shown, stat_of};
use super::node_file_system::{Attribution, FileType, NewObject, NodeFileSystem, SetStat, Space, Stat};
use super::nodes::ROOT;
use crate::cache::{Change, Options};

/// A directory. It knows every object that the kernel knows by its file system's handle, or by an open file where there is
/// none, so that the object is meant whatever becomes of its names. With a cache it must change through the mount only: changes made behind its back are not seen.
pub struct DirectoryFileSystem {
    known: Arc<Known>,
    numbers: Mutex<Numbers>,
    counters: Arc<DirectoryCounters>,
}

/// What a mounted directory was asked for, as far as a cache of paths can answer it.
#[derive(Debug, Default)]
pub struct DirectoryCounters {
    stats: AtomicU64,
    stats_from_cache: AtomicU64,
    too_many: AtomicU64,
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

    /// How many look-ups failed because the process may hold no more objects open.
    pub fn too_many(&self) -> u64 {
        self.too_many.load(Ordering::Relaxed)
    }
}

impl DirectoryFileSystem {
    /// A directory; `cache` is how large its cache is, or `None` for a mount that asks the directory every time. The process
    /// may have as many files open from then on as its hard limit allows.
    ///
    /// # Errors
    /// If it cannot be opened, or Linux is older than 5.8.
    pub fn open(directory: &Path, cache: Option<Options>) -> io::Result<Self> {
        objects::raise_limit();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = fs::open(directory, flags, Mode::empty())?;
        let found = asked(&root).map_err(|errno| match errno {
            Errno::NOSYS => {
                io::Error::new(io::ErrorKind::Unsupported, "a mount of a directory needs Linux 5.8 or later")
            }
            _ => errno.into(),
        })?;
        let numbers = Mutex::new(Numbers::new(&found));
        Ok(Self { known: Arc::new(Known::new(root, cache)), numbers, counters: Arc::default() })
    }

    /// Its counters, which can be read while it is mounted and afterwards.
    pub fn counters(&self) -> Arc<DirectoryCounters> {
        Arc::clone(&self.counters)
    }

    /// An open file of an object that the kernel knows.
    fn object(&self, number: u64) -> Result<Arc<OwnedFd>, Errno> {
        self.known.object(number).map_err(|errno| self.limited(errno))
    }

    /// What has this name, asked of the host.
    fn find(&self, directory: u64, name: &[u8]) -> Result<(OwnedFd, Stat), Errno> {
        let object = self.held(self.object(directory)?, name)?;
        let stat = self.stat_of_new(&object)?;
        Ok((object, stat))
    }

    fn held(&self, directory: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
        held(directory, name).map_err(|errno| self.limited(errno))
    }

    /// The attributes of an object that may have no number yet.
    fn stat_of_new(&self, object: &OwnedFd) -> Result<Stat, Errno> {
        let found = asked(object)?;
        let number = self.numbers.lock().of(Site::of(&found), found.stx_ino);
        Ok(shown(object, &found, number))
    }

    /// The kernel is told of what has this name in an open directory.
    fn remembered_in(&self, above: impl AsFd, directory: u64, name: &[u8]) -> Result<Stat, Errno> {
        self.remembered_as(directory, name, self.held(above, name)?)
    }

    /// The kernel is told of this object, by this name.
    fn remembered_as(&self, directory: u64, name: &[u8], object: OwnedFd) -> Result<Stat, Errno> {
        let mut stat = self.stat_of_new(&object)?;
        stat.generation = self.known.remember(&stat, directory, name, object);
        Ok(stat)
    }

    /// A place for one more open file, to be given up for it, so that nothing is created that cannot be told of.
    fn spare(&self, file: impl AsFd) -> Result<OwnedFd, Errno> {
        fcntl_dupfd_cloexec(file, 0).map_err(|errno| self.limited(errno))
    }

    fn handle(&self, file: OwnedFd, inode: u64) -> DirectoryHandle {
        DirectoryHandle { file: file.into(), inode, known: Arc::clone(&self.known) }
    }

    /// Too many open files are not the asking process's.
    fn limited(&self, errno: Errno) -> Errno {
        if errno != Errno::MFILE {
            return errno;
        }
        self.counters.too_many.fetch_add(1, Ordering::Relaxed);
        Errno::NFILE
    }

    fn reopened(&self, number: u64, flags: OFlags) -> Result<OwnedFd, Errno> {
        let object = self.object(number)?;
        fs::open(path_of(&*object), flags | OFlags::CLOEXEC, Mode::empty()).map_err(|errno| self.limited(errno))
    }

    fn remove(&self, directory: u64, name: &[u8], flags: AtFlags) -> Result<(), Errno> {
        let (object, stat) = self.find(directory, name)?;
        self.known.change_names(&[(directory, name)], Some(&stat), || {
            self.known.hold(&stat, object);
            fs::unlinkat(&*self.object(directory)?, name, flags)?;
            self.known.nodes.write().unlink(directory, name);
            Ok(())
        })
    }

    fn asked(&self, number: u64) -> Result<Stat, Errno> {
        stat_of(&*self.object(number)?, number)
    }

    fn answered_from_cache(&self) {
        self.counters.stats_from_cache.fetch_add(1, Ordering::Relaxed);
    }
}

impl NodeFileSystem for DirectoryFileSystem {
    type Handle = DirectoryHandle;

    fn look_up(&self, directory: u64, name: &[u8]) -> Result<Stat, Errno> {
        self.counters.stats.fetch_add(1, Ordering::Relaxed);
        let path = self.known.nodes.read().child(directory, name);
        match self.known.cached(path) {
            Some(Err(missing)) => {
                self.answered_from_cache();
                return Err(missing);
            }
            // Unless the object that it was is forgotten.
            Some(Ok(stat)) if self.known.nodes.write().remember_again(stat.inode, stat.generation, directory, name) => {
                self.answered_from_cache();
                return Ok(stat);
            }
            Some(Ok(_)) | None => (),
        }
        let asking = self.known.asking(|nodes| nodes.child(directory, name));
        let found = self.object(directory).and_then(|above| self.remembered_in(above, directory, name));
        match &found {
            Ok(stat) => self.known.keep(asking, Some(stat)),
            Err(Errno::NOENT) => self.known.keep(asking, None),
            Err(_) => (),
        }
        found
    }

    fn forget(&self, number: u64, lookups: u64) {
        self.known.nodes.write().forget(number, lookups);
    }

    fn stat(&self, number: u64) -> Result<Stat, Errno> {
        self.counters.stats.fetch_add(1, Ordering::Relaxed);
        let (path, serial) = {
            let nodes = self.known.nodes.read();
            (nodes.path(number), nodes.serial(number).ok_or(Errno::STALE)?)
        };
        if let Some(Ok(stat)) = self.known.cached(path)
            && stat.generation == serial
        {
            self.answered_from_cache();
            return Ok(stat);
        }
        let asking = self.known.asking(|nodes| nodes.path(number));
        let stat = Stat { generation: serial, ..self.asked(number)? };
        self.known.keep(asking, Some(&stat));
        Ok(stat)
    }

    fn read_link(&self, number: u64) -> Result<Vec<u8>, Errno> {
        fs::readlinkat(&*self.object(number)?, "", Vec::new()).map(std::ffi::CString::into_bytes)
    }

    fn list(&self, number: u64) -> Result<Vec<(Vec<u8>, u64, FileType)>, Errno> {
        let directory = self.reopened(number, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let site = Site::of(&asked(&directory)?);
        let mut names = Vec::new();
        for entry in fs::Dir::new(directory)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                // Right but for what another file system has there: that one's comes with the look-up.
                let number = self.numbers.lock().of(site, entry.ino());
                names.push((name.to_vec(), number, file_type(entry.file_type())));
            }
        }
        Ok(names)
    }

    fn create_file(
        &self,
        directory: u64,
        name: &[u8],
        by: Attribution,
        writes: bool,
    ) -> Result<(Stat, DirectoryHandle), Errno> {
        let above = self.object(directory)?;
        let spare = self.spare(&above)?;
        let access = if writes { OFlags::RDWR } else { OFlags::RDONLY };
        let flags = access | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(by.mode.into());
        self.known.change_names(&[(directory, name)], None, || {
            let file = as_caller(by, || fs::openat(&*above, name, flags, mode)).map_err(|errno| self.limited(errno))?;
            drop(spare);
            let object = fs::open(path_of(&file), OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
            let stat = self.remembered_as(directory, name, object.map_err(|errno| self.limited(errno))?)?;
            let handle = self.handle(file, stat.inode);
            Ok((stat, handle))
        })
    }

    fn create(&self, directory: u64, name: &[u8], object: NewObject<'_>, by: Attribution) -> Result<Stat, Errno> {
        let above = self.object(directory)?;
        let spare = self.spare(&above)?;
        let mode = Mode::from_raw_mode(by.mode.into());
        let create = || match object {
            NewObject::Directory => fs::mkdirat(&*above, name, mode),
            NewObject::Symlink(target) => fs::symlinkat(target, &*above, name),
            NewObject::Node(file_type, device) => fs::mknodat(&*above, name, raw_type(file_type), mode, device.into()),
        };
        self.known.change_names(&[(directory, name)], None, || {
            as_caller(by, create)?;
            drop(spare);
            self.remembered_in(&above, directory, name)
        })
    }

    fn link(&self, number: u64, directory: u64, name: &[u8]) -> Result<Stat, Errno> {
        let (object, above) = (self.object(number)?, self.object(directory)?);
        let (stat, spare) = (self.asked(number)?, self.spare(&above)?);
        self.known.change_names(&[(directory, name)], Some(&stat), || {
            fs::linkat(CWD, path_of(&*object), &*above, name, AtFlags::SYMLINK_FOLLOW)?;
            drop(spare);
            self.remembered_in(&above, directory, name)
        })
    }

    fn unlink(&self, directory: u64, name: &[u8]) -> Result<(), Errno> {
        self.remove(directory, name, AtFlags::empty())
    }

    fn remove_directory(&self, directory: u64, name: &[u8]) -> Result<(), Errno> {
        self.remove(directory, name, AtFlags::REMOVEDIR)
    }

    fn rename(&self, from: (u64, &[u8]), to: (u64, &[u8]), keeps: bool) -> Result<(), Errno> {
        let (_held, moved) = self.find(from.0, from.1)?;
        let replaced = self.find(to.0, to.1).ok();
        if replaced.as_ref().is_some_and(|(_, replaced)| replaced.inode == moved.inode) && !keeps {
            // Two names of one object both stay.
            return Ok(());
        }
        let (old, new) = (self.object(from.0)?, self.object(to.0)?);
        let flags = if keeps { RenameFlags::NOREPLACE } else { RenameFlags::empty() };
        let rename = || {
            fs::renameat_with(&*old, from.1, &*new, to.1, flags)?;
            self.known.nodes.write().rename(from, to);
            Ok(())
        };
        // What is replaced loses a name, and its other names show it.
        self.known.change_names(&[from, to], Some(&moved), || match replaced {
            Some((object, replaced)) => self.known.change_names(&[to], Some(&replaced), || {
                self.known.hold(&replaced, object);
                rename()
            }),
            None => rename(),
        })
    }

    fn set(&self, number: u64, set: &SetStat) -> Result<Stat, Errno> {
        let object = self.object(number)?;
        let path = path_of(&*object);
        let stat = self.asked(number)?;
        let directory = (stat.file_type == FileType::Directory).then(|| self.known.nodes.read().path(number)).flatten();
        let permission = directory.as_deref().map(Change::Permission);
        self.known.change_object(number, permission.as_slice(), || {
            if let Some(size) = set.size {
                let file = self.reopened(number, OFlags::WRONLY)?;
                clearing_set_id(set.clears_set_id, || fs::ftruncate(file, size))?;
            }
            if set.uid.is_some() || set.gid.is_some() {
                let (uid, gid) = (set.uid.map(Uid::from_raw), set.gid.map(Gid::from_raw));
                fs::chownat(&*object, "", uid, gid, AtFlags::EMPTY_PATH)?;
            }
            if let Some(mode) = set.mode {
                fs::chmod(&path, Mode::from_raw_mode(mode.into()))?;
            }
            if set.accessed.is_some() || set.modified.is_some() {
                let times =
                    Timestamps { last_access: timespec(set.accessed), last_modification: timespec(set.modified) };
                fs::utimensat(CWD, &path, &times, AtFlags::empty())?;
            }
            stat_of(&*object, number)
        })
    }

    fn open(&self, number: u64, writes: bool) -> Result<DirectoryHandle, Errno> {
        let file = self.reopened(number, if writes { OFlags::RDWR } else { OFlags::RDONLY })?;
        Ok(self.handle(file, number))
    }

    fn space(&self) -> Result<Space, Errno> {
        let space = fs::fstatvfs(&*self.object(ROOT)?)?;
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
