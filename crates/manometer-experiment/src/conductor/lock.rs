//! One run at a time in a device directory, and on a disk.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use manometer_measure::FileLock;
use manometer_measure::host::{Device, chain, device_of};
use rustix::fs::OFlags;

/// The file in the directory that a run holds locked; the lock ends with its process, however it ends.
const LOCK_FILE: &str = ".manometer.lock";

/// Where the files lie that stand for disks, unless this variable names another folder: a common one of several
/// containers, say.
const DISKS_VARIABLE: &str = "MANOMETER_LOCK_DIRECTORY";
const DISKS_FOLDER: &str = "/run/lock";
const OTHER_DISKS_FOLDER: &str = "/tmp";

/// A directory or a device that cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another run has it.
    #[error("{} is in use by another run (process {holder}): wait for it, or choose another folder", path.display())]
    Held {
        /// The directory.
        path: PathBuf,
        /// The other run's process id, as it wrote it down.
        holder: String,
    },
    /// Another run measures on the same disk.
    #[error(
        "the disk {disk} under {} is in use by another run (process {holder}): two at once would measure each other; \
         wait for it, or choose a folder on another disk", path.display()
    )]
    DiskHeld {
        /// The disk's name.
        disk: String,
        /// The directory.
        path: PathBuf,
        /// The other run's process id, as it wrote it down.
        holder: String,
    },
    /// It cannot be made or written.
    #[error("{}: {source}: choose a folder that can be written", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
}

/// Holds a device directory until dropped.
#[derive(Debug)]
pub struct DirectoryLock(#[expect(dead_code, reason = "held until it is dropped")] FileLock);

impl DirectoryLock {
    /// Makes `directory` where it is missing, and takes it.
    ///
    /// # Errors
    /// Another run holds it, or it cannot be written.
    pub fn take(directory: &Path) -> Result<Self, LockError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| LockError::Io { path, source }
        };
        fs::create_dir_all(directory).map_err(io(directory))?;
        let path = directory.join(LOCK_FILE);
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(io(&path))?;
        match hold(file) {
            Ok(held) => Ok(Self(held)),
            Err(Refused::Held(holder)) => Err(LockError::Held { path: directory.to_owned(), holder }),
            Err(Refused::Io(error)) => Err(io(&path)(error)),
        }
    }
}

/// Holds the disks under some directories until dropped: against runs in other directories of the same disks.
#[derive(Debug)]
pub struct DiskLocks(#[expect(dead_code, reason = "held until they are dropped")] Vec<FileLock>);

impl DiskLocks {
    /// Takes every disk under `directories`. A directory on no disk that this host shows has none.
    ///
    /// # Errors
    /// Another run holds one, or its file cannot be written.
    pub fn take<'a>(directories: impl IntoIterator<Item = &'a Path>) -> Result<Self, LockError> {
        let folder = std::env::var_os(DISKS_VARIABLE).map_or_else(disks_folder, PathBuf::from);
        let mut disks: Vec<(Device, &Path)> = Vec::new();
        for directory in directories {
            for disk in device_of(directory).iter().flat_map(disks_under) {
                if !disks.iter().any(|(known, _)| *known == disk) {
                    disks.push((disk, directory));
                }
            }
        }
        disks.iter().map(|(disk, directory)| take_disk(&folder, disk, directory)).collect::<Result<_, _>>().map(Self)
    }
}

/// The usual folder where every user may write into it, else another: the same for everybody on this host, whatever his
/// environment says of temporary files.
fn disks_folder() -> PathBuf {
    let for_all = fs::metadata(DISKS_FOLDER).is_ok_and(|folder| folder.permissions().mode() & 0o002 != 0);
    PathBuf::from(if for_all { DISKS_FOLDER } else { OTHER_DISKS_FOLDER })
}

/// The disks at the bottom of what `device` stands on.
fn disks_under(device: &Device) -> Vec<Device> {
    let layers = chain(device);
    layers.into_iter().filter(|layer| layer.maps_to.is_empty()).map(|layer| layer.device).collect()
}

fn take_disk(folder: &Path, disk: &Device, directory: &Path) -> Result<FileLock, LockError> {
    let path = folder.join(format!("manometer-{}-{}.lock", disk.major, disk.minor));
    let io = |source| LockError::Io { path: path.clone(), source };
    let file = open_for_all(&path).map_err(io)?;
    hold(file).map_err(|refused| match refused {
        Refused::Held(holder) => LockError::DiskHeld { disk: disk.name.clone(), path: directory.to_owned(), holder },
        Refused::Io(source) => LockError::Io { path: path.clone(), source },
    })
}

/// Opens a file that every user may lock, in a folder that everybody may write into: no link is followed, and one
/// that is there already is opened as it is, because the kernel refuses to make it again in another user's name.
fn open_for_all(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let open =
        |create: bool| OpenOptions::new().read(true).write(true).create_new(create).custom_flags(flags).open(path);
    match open(false) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    match open(true) {
        Ok(file) => file.set_permissions(Permissions::from_mode(0o666)).map(|()| file),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open(false),
        Err(error) => Err(error),
    }
}

enum Refused {
    /// By a process, as it wrote itself down.
    Held(String),
    Io(io::Error),
}

/// Locks `file` and writes into it who holds it.
fn hold(file: File) -> Result<FileLock, Refused> {
    let mut same = file.try_clone().map_err(Refused::Io)?;
    let Some(held) = FileLock::take(file).map_err(Refused::Io)? else {
        let mut holder = String::new();
        // What cannot be read is only the name of the other run.
        let _ = same.read_to_string(&mut holder);
        return Err(Refused::Held(holder.trim().to_owned()));
    };
    let written = same.set_len(0).and_then(|()| same.rewind()).and_then(|()| writeln!(same, "{}", std::process::id()));
    written.map(|()| held).map_err(Refused::Io)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_held_once_and_free_again() {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("a/b");
        let lock = DirectoryLock::take(&inside).unwrap();
        let error = DirectoryLock::take(&inside).unwrap_err();
        assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
        drop(lock);
        DirectoryLock::take(&inside).unwrap();
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let error = DirectoryLock::take(Path::new("/proc/nothing/here")).unwrap_err();
        assert!(error.to_string().contains("/proc/nothing/here"), "{error}");
    }

    fn disk(minor: u32) -> Device {
        Device { major: 8, minor, name: "sda".to_owned(), sysfs: PathBuf::from("/sys/none") }
    }

    #[test]
    fn a_disk_is_held_once_whatever_the_directory() {
        let folder = tempfile::tempdir().unwrap();
        let take = |minor, directory: &str| take_disk(folder.path(), &disk(minor), Path::new(directory));
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
    fn a_disks_file_is_everybodys_and_no_link() {
        let folder = tempfile::tempdir().unwrap();
        drop(take_disk(folder.path(), &disk(0), Path::new("/one")).unwrap());
        let mode = fs::metadata(folder.path().join("manometer-8-0.lock")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o666);
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("manometer-8-1.lock")).unwrap();
        assert!(matches!(take_disk(folder.path(), &disk(1), Path::new("/one")), Err(LockError::Io { .. })));
    }
}
