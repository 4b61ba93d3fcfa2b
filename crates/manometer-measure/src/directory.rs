//! Directories held open. What is below one is opened, created, renamed and removed relative to its handle, and no symbolic
//! link on the way is followed: whoever may change the directory cannot lead a run, which may be root's, to another place.
//!
//! Linux 5.6 does so itself (`openat2` with `RESOLVE_BENEATH` and `RESOLVE_NO_SYMLINKS`); for an older kernel each part of a
//! name is opened by itself. `clippy.toml` forbids the other ways to write.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::{Errno, fcntl_dupfd_cloexec};

use crate::regular_file;

/// Of new files, before the process's mask.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o777);

/// How often a name is tried again that another process changes at that moment.
const MOST_TRIES: u32 = 1_000;

/// Opens a directory as a place, without reading it.
const PLACE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);

/// A directory held open. Names are relative to it, and have no `..`.
#[derive(Debug, Clone)]
pub struct Directory {
    handle: Arc<OwnedFd>,
    path: PathBuf,
}

impl Directory {
    /// Opens the directory `path`, which its user has named: links in it are followed.
    ///
    /// # Errors
    /// It is missing, no directory, or cannot be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_named(path, OFlags::RDONLY | OFlags::DIRECTORY)
    }

    fn open_named(path: &Path, flags: OFlags) -> io::Result<Self> {
        let path_or_here = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        #[expect(clippy::disallowed_methods, reason = "the handle that everything else is relative to")]
        let handle = rustix::fs::open(path_or_here, flags | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { handle: Arc::new(handle), path: path.to_owned() })
    }

    /// Opens the directory `path`, which its user has named, and creates it and those above it where they are missing.
    ///
    /// # Errors
    /// It cannot be created or read.
    #[expect(clippy::disallowed_methods, reason = "the handle that everything else is relative to")]
    pub fn create(path: &Path) -> io::Result<Self> {
        if !path.as_os_str().is_empty() {
            fs::create_dir_all(path)?;
        }
        Self::open(path)
    }

    /// Opens the directory that holds `path`, whose last part alone is not followed, and that part's name. Who may not list the
    /// directory may use it nevertheless: its entries cannot be read.
    ///
    /// # Errors
    /// The directory is missing, or `path` has no last part.
    pub fn holding(path: &Path) -> io::Result<(Self, OsString)> {
        let name = path.file_name().ok_or(Errno::INVAL)?.to_owned();
        Ok((Self::open_named(path.parent().unwrap_or(Path::new("")), PLACE)?, name))
    }

    /// Its path when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the directory `name`.
    ///
    /// # Errors
    /// It is missing, no directory, behind a link, or cannot be read.
    pub fn directory(&self, name: impl AsRef<Path>) -> io::Result<Self> {
        let name = name.as_ref();
        let handle = self.open_beneath(name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        Ok(Self { handle: Arc::new(handle), path: self.path.join(name) })
    }

    /// Creates the directory `name`.
    ///
    /// # Errors
    /// It exists, or cannot be created.
    pub fn create_directory(&self, name: impl AsRef<Path>) -> io::Result<Self> {
        let (place, last) = self.place_of(name.as_ref())?;
        rustix::fs::mkdirat(place, last, DIRECTORY_MODE)?;
        self.directory(name)
    }

    /// Opens the directory `name`, and creates it and those between where they are missing.
    ///
    /// # Errors
    /// It cannot be created or opened.
    pub fn ensure_directory(&self, name: impl AsRef<Path>) -> io::Result<Self> {
        let mut directory = self.clone();
        for part in name.as_ref().components() {
            directory = match directory.create_directory(part) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => directory.directory(part)?,
                created => created?,
            };
        }
        Ok(directory)
    }

    /// Opens the file `name`, for reading: a regular file, so that none holds up its reader.
    ///
    /// # Errors
    /// It is missing, not regular, behind a link, or cannot be read.
    pub fn read(&self, name: impl AsRef<Path>) -> io::Result<File> {
        regular_file::check(self.open_file(name, OFlags::RDONLY | OFlags::NONBLOCK)?)
    }

    /// The content of the file `name`, which has at most `most_bytes`.
    ///
    /// # Errors
    /// As those of [`Self::read`], or it is larger.
    pub fn read_all(&self, name: impl AsRef<Path>, most_bytes: u64) -> io::Result<Vec<u8>> {
        regular_file::read_whole(self.read(name)?, most_bytes)
    }

    /// Creates the file `name`, for reading and writing.
    ///
    /// # Errors
    /// It exists, or cannot be created.
    pub fn create_new(&self, name: impl AsRef<Path>) -> io::Result<File> {
        self.open_file(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)
    }

    /// Creates the file `name`, for reading and writing, in the place of one that is there, which is removed and never
    /// written to: it may be a hard link to another file.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create_anew(&self, name: impl AsRef<Path>) -> io::Result<File> {
        match self.create_new(name.as_ref()) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.remove_file(name.as_ref())?;
                self.create_new(name)
            }
            created => created,
        }
    }

    /// Opens the file `name`, for appending.
    ///
    /// # Errors
    /// It is missing, behind a link, or cannot be written.
    pub fn append(&self, name: impl AsRef<Path>) -> io::Result<File> {
        self.open_file(name, OFlags::WRONLY | OFlags::APPEND | OFlags::NONBLOCK)
    }

    /// Opens the file `name` with `flags`.
    ///
    /// # Errors
    /// It is behind a link, or cannot be opened so.
    pub fn open_file(&self, name: impl AsRef<Path>, flags: OFlags) -> io::Result<File> {
        let mode = if flags.contains(OFlags::CREATE) { FILE_MODE } else { Mode::empty() };
        self.open_beneath(name.as_ref(), flags, mode).map(File::from)
    }

    /// Gives the file `name` the content `bytes`, atomically and durably: under another name first.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn replace(&self, name: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        let name = name.as_ref();
        let part = name.with_extension("part");
        let mut file = self.create_anew(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        self.rename(part, name)
    }

    /// Renames `from` to `to`, which is replaced; a link is renamed or replaced itself.
    ///
    /// # Errors
    /// `from` is missing, or cannot be renamed.
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        let (from_place, from) = self.place_of(from.as_ref())?;
        let (to_place, to) = self.place_of(to.as_ref())?;
        Ok(rustix::fs::renameat(from_place, from, to_place, to)?)
    }

    /// Gives the file `from` the further name `name` in `to`.
    ///
    /// # Errors
    /// The name exists, or the file system does not support it.
    pub fn hard_link(&self, from: impl AsRef<Path>, to: &Self, name: impl AsRef<Path>) -> io::Result<()> {
        let (from_place, from) = self.place_of(from.as_ref())?;
        let (to_place, name) = to.place_of(name.as_ref())?;
        Ok(rustix::fs::linkat(from_place, from, to_place, name, AtFlags::empty())?)
    }

    /// Removes the file or link `name`.
    ///
    /// # Errors
    /// It is missing, or cannot be removed.
    pub fn remove_file(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let (place, last) = self.place_of(name.as_ref())?;
        Ok(rustix::fs::unlinkat(place, last, AtFlags::empty())?)
    }

    /// Removes the empty directory `name`.
    ///
    /// # Errors
    /// It is missing or holds something.
    pub fn remove_directory(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let (place, last) = self.place_of(name.as_ref())?;
        Ok(rustix::fs::unlinkat(place, last, AtFlags::REMOVEDIR)?)
    }

    /// Removes the directory `name` with everything in it, links themselves.
    ///
    /// # Errors
    /// It is missing, or something cannot be removed.
    pub fn remove_tree(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let tree = self.directory(name.as_ref())?;
        for (entry, kind) in tree.entries()? {
            if kind.is_dir() { tree.remove_tree(&entry)? } else { tree.remove_file(&entry)? }
        }
        self.remove_directory(name)
    }

    /// Its entries, by name, and what they are.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn entries(&self) -> io::Result<Vec<(OsString, FileType)>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.handle)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            // Some file systems do not say it with the name.
            let kind = match entry.file_type() {
                FileType::Unknown => FileType::from_raw_mode(self.facts(name)?.st_mode),
                known => known,
            };
            entries.push((name.to_owned(), kind));
        }
        entries.sort_by(|one: &(OsString, FileType), other| one.0.cmp(&other.0));
        Ok(entries)
    }

    /// What the file system says about `name`, which may be a link.
    ///
    /// # Errors
    /// It is missing, or behind a link.
    pub fn facts(&self, name: impl AsRef<Path>) -> io::Result<Stat> {
        let (place, last) = self.place_of(name.as_ref())?;
        Ok(rustix::fs::statat(place, last, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// The id of its owner.
    ///
    /// # Errors
    /// The file system does not say.
    pub fn owner(&self) -> io::Result<u32> {
        Ok(rustix::fs::fstat(&*self.handle)?.st_uid)
    }

    /// Whether it has an entry `name`, be it a link that leads nowhere.
    pub fn holds(&self, name: impl AsRef<Path>) -> bool {
        self.facts(name).is_ok()
    }

    /// Makes its entries durable.
    ///
    /// # Errors
    /// The device does not take them.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&*self.handle)?)
    }

    /// Makes everything in its file system durable.
    ///
    /// # Errors
    /// The device does not take it.
    pub fn sync_file_system(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(&*self.handle)?)
    }

    /// The directory that holds `name`, and the last part of it.
    fn place_of<'a>(&self, name: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
        let last = name.file_name().ok_or(Errno::INVAL)?;
        let place = match name.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            None => fcntl_dupfd_cloexec(&*self.handle, 0)?,
            Some(parent) => self.open_beneath(parent, PLACE, Mode::empty())?,
        };
        Ok((place, last))
    }

    fn open_beneath(&self, name: &Path, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        open_beneath(self.handle.as_fd(), name, flags, mode).map_err(|error| match error {
            Errno::LOOP | Errno::XDEV => io::Error::other(format!(
                "{} is a symbolic link or behind one, and none is followed below {}: remove the link",
                name.display(),
                self.path.display()
            )),
            other => other.into(),
        })
    }
}

/// Creates the file `path`, for reading and writing, in the place of one that is there. The directory that holds it is found as
/// its user has named it, its last part is not followed.
///
/// # Errors
/// It cannot be created.
pub fn create_file(path: &Path) -> io::Result<File> {
    let (directory, name) = Directory::holding(path)?;
    directory.create_anew(name)
}

/// Removes the file or link `path`, found as [`create_file`] finds it.
///
/// # Errors
/// It is missing, or cannot be removed.
pub fn remove_file(path: &Path) -> io::Result<()> {
    let (directory, name) = Directory::holding(path)?;
    directory.remove_file(name)
}

/// Removes the empty directory `path`, found as [`create_file`] finds it.
///
/// # Errors
/// It is missing or holds something.
pub fn remove_directory(path: &Path) -> io::Result<()> {
    let (directory, name) = Directory::holding(path)?;
    directory.remove_directory(name)
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

fn open_beneath(place: BorrowedFd<'_>, name: &Path, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    for _ in 0..MOST_TRIES {
        match rustix::fs::openat2(place, name, flags | OFlags::CLOEXEC, mode, resolve) {
            Err(Errno::AGAIN) => {}
            // The kernel is older, or a container's filter, also an older one, forbids what it does not know.
            Err(Errno::NOSYS | Errno::PERM) => return open_by_parts(place, name, flags, mode),
            opened => return opened,
        }
    }
    Err(Errno::AGAIN)
}

/// As [`open_beneath`], for a kernel without `openat2`.
fn open_by_parts(place: BorrowedFd<'_>, name: &Path, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    let mut held = fcntl_dupfd_cloexec(place, 0)?;
    let mut parts = name.components().peekable();
    while let Some(part) = parts.next() {
        let (flags, mode) = if parts.peek().is_some() { (PLACE, Mode::empty()) } else { (flags, mode) };
        let Component::Normal(part) = part else { return Err(Errno::XDEV) };
        let opened = rustix::fs::openat(&held, part, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, mode);
        held = opened.map_err(|error| if is_link(held.as_fd(), part) { Errno::LOOP } else { error })?;
    }
    Ok(held)
}

fn is_link(place: BorrowedFd<'_>, name: &OsStr) -> bool {
    let facts = rustix::fs::statat(place, name, AtFlags::SYMLINK_NOFOLLOW);
    facts.is_ok_and(|facts| FileType::from_raw_mode(facts.st_mode).is_symlink())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A directory with a file, and links to what is outside in every place.
    fn scene() -> (tempfile::TempDir, Directory) {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("inside");
        fs::create_dir_all(inside.join("deep/er")).unwrap();
        fs::create_dir(dir.path().join("outside")).unwrap();
        fs::write(dir.path().join("outside/precious"), "precious").unwrap();
        fs::write(inside.join("deep/file"), "own").unwrap();
        symlink("../outside", inside.join("folder")).unwrap();
        symlink("../outside/precious", inside.join("file")).unwrap();
        symlink("../outside/missing", inside.join("dangling")).unwrap();
        symlink("deep", inside.join("within")).unwrap();
        let directory = Directory::open(&inside).unwrap();
        (dir, directory)
    }

    const BEHIND_LINKS: [&str; 6] =
        ["file", "dangling", "folder/precious", "within/file", "../outside/precious", "deep/../../outside/precious"];

    #[test]
    fn nothing_behind_a_link_is_opened_by_openat2_or_by_parts() {
        let (dir, directory) = scene();
        for open in [open_beneath, open_by_parts] {
            let open = |name: &str, flags| open(directory.handle.as_fd(), Path::new(name), flags, Mode::empty());
            for name in BEHIND_LINKS.into_iter().chain(["/etc/hostname"]) {
                for flags in [OFlags::RDONLY, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC, PLACE] {
                    let error = open(name, flags).unwrap_err();
                    assert!([Errno::LOOP, Errno::XDEV].contains(&error), "{name}: {error}");
                }
            }
            assert_eq!(open("missing/file", OFlags::RDONLY).unwrap_err(), Errno::NOENT);
            assert_eq!(open("deep/file/er", OFlags::RDONLY).unwrap_err(), Errno::NOTDIR);
            let mut text = String::new();
            File::from(open("deep/file", OFlags::RDONLY).unwrap()).read_to_string(&mut text).unwrap();
            assert_eq!(text, "own");
        }
        assert_eq!(fs::read_to_string(dir.path().join("outside/precious")).unwrap(), "precious");
        assert_eq!(fs::read_dir(dir.path().join("outside")).unwrap().count(), 1);
    }

    #[test]
    fn what_is_outside_stays_as_it_is_whatever_is_done() {
        let (dir, directory) = scene();
        for name in BEHIND_LINKS {
            let behind = Path::new(name).components().count() > 1;
            assert!(directory.read(name).is_err() && directory.append(name).is_err(), "{name}");
            assert!(directory.create_new(name).is_err() && directory.directory(name).is_err(), "{name}");
            assert!(!behind || directory.rename("deep/file", name).is_err(), "{name}");
            assert!(!behind || directory.rename(name, "taken").is_err(), "{name}");
            assert!(!behind || directory.remove_file(name).is_err(), "{name}");
        }
        assert!(directory.ensure_directory("folder/new").is_err());
        assert!(directory.remove_tree("folder").is_err());
        directory.replace("file", b"replaced").unwrap();
        assert_eq!(fs::read_to_string(directory.path().join("file")).unwrap(), "replaced");
        // A tree goes, what its links lead to stays.
        symlink("../../outside", directory.path().join("deep/er/folder")).unwrap();
        directory.remove_tree("deep").unwrap();
        assert!(!directory.holds("deep"));
        assert_eq!(fs::read_to_string(dir.path().join("outside/precious")).unwrap(), "precious");
    }

    #[test]
    fn a_directory_whose_path_is_given_to_another_is_still_its_own() {
        let (dir, directory) = scene();
        fs::rename(directory.path(), dir.path().join("moved")).unwrap();
        symlink(dir.path().join("outside"), directory.path()).unwrap();
        directory.replace("precious", b"new").unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("moved/precious")).unwrap(), "new");
        assert_eq!(fs::read_to_string(dir.path().join("outside/precious")).unwrap(), "precious");
    }

    #[test]
    fn a_file_in_the_way_is_replaced_and_never_written_to() {
        let (dir, directory) = scene();
        let precious = dir.path().join("outside/precious");
        for name in ["plan.part", "plan.json"] {
            fs::hard_link(&precious, directory.path().join(name)).unwrap();
        }
        directory.replace("plan.json", b"new").unwrap();
        assert_eq!(fs::read_to_string(directory.path().join("plan.json")).unwrap(), "new");
        assert_eq!(fs::read_to_string(precious).unwrap(), "precious");
    }

    #[test]
    fn a_file_is_written_in_a_directory_that_cannot_be_listed() {
        let dir = tempfile::tempdir().unwrap();
        let (parent, name) = Directory::holding(&dir.path().join("file")).unwrap();
        // Root may list everything: the handle shows that nothing was asked for.
        assert_eq!(rustix::fs::fcntl_getfl(&parent).unwrap() & OFlags::PATH, OFlags::PATH);
        parent.replace(&name, b"new").unwrap();
        assert_eq!(fs::read(dir.path().join("file")).unwrap(), b"new");
    }

    #[test]
    fn only_regular_files_are_read() {
        let (_dir, directory) = scene();
        let pipe = directory.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::from_raw_mode(0o600)).unwrap();
        for name in ["pipe", "deep"] {
            assert!(directory.read(name).unwrap_err().to_string().contains("not a regular file"));
        }
    }

    #[test]
    fn entries_are_in_order_and_links_are_links() {
        let (_dir, directory) = scene();
        let entries = directory.entries().unwrap();
        let names: Vec<&OsStr> = entries.iter().map(|(name, _)| name.as_os_str()).collect();
        assert_eq!(names, ["dangling", "deep", "file", "folder", "within"]);
        assert_eq!(entries.iter().filter(|(_, kind)| kind.is_symlink()).count(), 4);
        assert!(directory.ensure_directory("a/b").unwrap().entries().unwrap().is_empty());
    }
}
