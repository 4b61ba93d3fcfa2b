//! Locks of device directories and disks: one run at a time.

use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use manometer_measure::host::{BlockDevice, device_of, layers_of};
use manometer_measure::{Directory, FileLock};
use rustix::fs::OFlags;

/// The lock file in a directory. The lock ends with its process, however that ends.
const LOCK_FILE: &str = ".manometer.lock";

/// The folder of the lock files of disks, unless this variable names another one, such as one shared by containers.
const LOCK_DIRECTORY_VARIABLE: &str = "MANOMETER_LOCK_DIRECTORY";
const LOCK_DIRECTORY: &str = "/run/lock";
const FALLBACK_LOCK_DIRECTORY: &str = "/tmp";

/// A directory or a disk that cannot be locked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another run holds the directory.
    #[error(
        "{} is in use by another run (process {holder}): wait for it to end, or choose another directory",
        path.display()
    )]
    Held {
        /// The directory.
        path: PathBuf,
        /// The process id of the other run.
        holder: String,
    },
    /// Another run uses the same disk.
    #[error(
        "the disk {disk} of {} is in use by another run (process {holder}): two runs on one disk disturb each other; \
         wait for it to end, as `run --wait` does, or choose a directory on another disk", path.display()
    )]
    DiskHeld {
        /// The disk's name.
        disk: String,
        /// The directory.
        path: PathBuf,
        /// The process id of the other run.
        holder: String,
    },
    /// The lock file cannot be created or written.
    #[error("{}: {source}: choose a writable directory", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// A directory that is held open and locked, until dropped.
#[derive(Debug)]
pub struct DirectoryLock {
    directory: Directory,
    _lock: FileLock,
}

impl DirectoryLock {
    /// Creates `directory` where it is missing, and locks it.
    ///
    /// # Errors
    /// Another run holds it, or it cannot be written.
    pub fn take(directory: &Path) -> Result<Self, LockError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| LockError::Io { path, source }
        };
        let held = Directory::create(directory).map_err(io(directory))?;
        let path = directory.join(LOCK_FILE);
        let file = open_own(&held).map_err(io(&path))?;
        match lock_file(file) {
            Ok(lock) => Ok(Self { directory: held, _lock: lock }),
            Err(FileLockError::Held(holder)) => Err(LockError::Held { path: directory.to_owned(), holder }),
            Err(FileLockError::Io(error)) => Err(io(&path)(error)),
        }
    }

    /// The directory.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }
}

/// The locks of all disks below some directories, until dropped: against runs in other directories on the same disks.
#[derive(Debug)]
pub struct DiskLocks(#[expect(dead_code, reason = "held until they are dropped")] Vec<FileLock>);

impl DiskLocks {
    /// Locks every disk below `directories`. A directory whose disk the host does not show has none.
    ///
    /// # Errors
    /// Another run holds one, or its file cannot be written.
    pub fn take<'a>(directories: impl IntoIterator<Item = &'a Path>) -> Result<Self, LockError> {
        let folder = std::env::var_os(LOCK_DIRECTORY_VARIABLE).map_or_else(lock_directory, PathBuf::from);
        let mut disks: Vec<(BlockDevice, &Path)> = Vec::new();
        for directory in directories {
            for disk in device_of(directory).iter().flat_map(disks_below) {
                if !disks.iter().any(|(known, _)| *known == disk) {
                    disks.push((disk, directory));
                }
            }
        }
        disks.iter().map(|(disk, directory)| lock_disk(&folder, disk, directory)).collect::<Result<_, _>>().map(Self)
    }
}

/// The folder of the lock files: the same for all users of the host, with any temporary directory.
fn lock_directory() -> PathBuf {
    let is_world_writable = fs::metadata(LOCK_DIRECTORY).is_ok_and(|folder| folder.permissions().mode() & 0o002 != 0);
    PathBuf::from(if is_world_writable { LOCK_DIRECTORY } else { FALLBACK_LOCK_DIRECTORY })
}

/// The disks at the bottom of the layers of `device`.
fn disks_below(device: &BlockDevice) -> Vec<BlockDevice> {
    let layers = layers_of(device);
    layers.into_iter().filter(|layer| layer.maps_to.is_empty()).map(|layer| layer.device).collect()
}

fn lock_disk(folder: &Path, disk: &BlockDevice, directory: &Path) -> Result<FileLock, LockError> {
    let name = format!("manometer-{}-{}.lock", disk.major, disk.minor);
    let path = folder.join(&name);
    let io = |source| LockError::Io { path: path.clone(), source };
    let file = Directory::open(folder).and_then(|folder| open_shared(&folder, &name)).map_err(io)?;
    lock_file(file).map_err(|error| match error {
        FileLockError::Held(holder) => {
            LockError::DiskHeld { disk: disk.name.clone(), path: directory.to_owned(), holder }
        }
        FileLockError::Io(source) => LockError::Io { path: path.clone(), source },
    })
}

/// Opens the lock file of a directory, which may be another user's: nothing that a link leads to is written to.
fn open_own(directory: &Directory) -> io::Result<File> {
    let not_a_lock = |what: &str| io::Error::other(format!("it is {what}, not a lock file: remove it"));
    let file = directory.open_file(LOCK_FILE, OFlags::RDWR | OFlags::CREATE | OFlags::NONBLOCK)?;
    let facts = file.metadata()?;
    match (facts.is_file(), facts.nlink()) {
        (true, 1) => Ok(file),
        (true, _) => Err(not_a_lock("a hard link to another file")),
        (false, _) => Err(not_a_lock("no regular file")),
    }
}

/// Opens a lock file for all users in a world-writable folder. No symbolic link is followed, and an existing file is
/// opened as it is, because the kernel refuses to create it again in another user's name.
fn open_shared(folder: &Directory, name: &str) -> io::Result<File> {
    let open = || folder.open_file(name, OFlags::RDWR);
    match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    match folder.create_new(name) {
        Ok(file) => file.set_permissions(Permissions::from_mode(0o666)).map(|()| file),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open(),
        Err(error) => Err(error),
    }
}

enum FileLockError {
    /// The process id of the holder.
    Held(String),
    Io(io::Error),
}

/// Locks `file` and writes the id of this process into it.
fn lock_file(file: File) -> Result<FileLock, FileLockError> {
    let mut same = file.try_clone().map_err(FileLockError::Io)?;
    let Some(held) = FileLock::take(file).map_err(FileLockError::Io)? else {
        let mut holder = String::new();
        // Without its text only the holder's process id is unknown.
        let _ = same.read_to_string(&mut holder);
        return Err(FileLockError::Held(holder.trim().to_owned()));
    };
    let written = same.set_len(0).and_then(|()| same.rewind()).and_then(|()| writeln!(same, "{}", std::process::id()));
    written.map(|()| held).map_err(FileLockError::Io)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_locked_once_until_released() {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("a/b");
        let lock = DirectoryLock::take(&inside).unwrap();
        let error = DirectoryLock::take(&inside).unwrap_err();
        assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
        drop(lock);
        DirectoryLock::take(&inside).unwrap();
    }

    #[test]
    fn what_is_linked_as_a_lock_file_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let (file, lock) = (dir.path().join("precious"), dir.path().join("data").join(LOCK_FILE));
        fs::create_dir(dir.path().join("data")).unwrap();
        fs::write(&file, "precious").unwrap();
        let refused = || DirectoryLock::take(&dir.path().join("data")).unwrap_err().to_string();
        std::os::unix::fs::symlink(&file, &lock).unwrap();
        assert!(refused().contains(".manometer.lock is a symbolic link or behind one"), "{}", refused());
        fs::remove_file(&lock).unwrap();
        fs::hard_link(&file, &lock).unwrap();
        assert!(refused().contains("it is a hard link to another file"));
        fs::remove_file(&lock).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &lock, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
        assert!(refused().contains("it is no regular file"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    }

    #[test]
    fn a_directory_that_cannot_be_created_is_named() {
        let error = DirectoryLock::take(Path::new("/proc/nothing/here")).unwrap_err();
        assert!(error.to_string().contains("/proc/nothing/here"), "{error}");
    }

    fn disk(minor: u32) -> BlockDevice {
        BlockDevice { major: 8, minor, name: "sda".to_owned(), sysfs: PathBuf::from("/sys/none") }
    }

    #[test]
    fn a_disk_is_locked_once_for_all_directories() {
        let folder = tempfile::tempdir().unwrap();
        let take = |minor, directory: &str| lock_disk(folder.path(), &disk(minor), Path::new(directory));
        let held = take(0, "/one").unwrap();
        let error = take(0, "/two").unwrap_err().to_string();
        for word in ["sda", "/two", &std::process::id().to_string()] {
            assert!(error.contains(word), "{error}");
        }
        take(16, "/two").unwrap();
        drop(held);
        take(0, "/two").unwrap();
    }

    #[test]
    fn lock_files_of_disks_are_world_writable_and_not_symbolic_links() {
        let folder = tempfile::tempdir().unwrap();
        drop(lock_disk(folder.path(), &disk(0), Path::new("/one")).unwrap());
        let mode = fs::metadata(folder.path().join("manometer-8-0.lock")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o666);
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("manometer-8-1.lock")).unwrap();
        assert!(matches!(lock_disk(folder.path(), &disk(1), Path::new("/one")), Err(LockError::Io { .. })));
    }
}
