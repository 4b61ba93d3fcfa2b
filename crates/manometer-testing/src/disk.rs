//! Small disks for tests that fill, wear out or erase one.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::skip::{Cause, skip};

/// A loop device on a sparse file.
#[derive(Debug)]
pub struct LoopDevice {
    /// Its device node in `/dev`.
    pub path: PathBuf,
    /// Its backing file.
    pub image: PathBuf,
    _directory: Option<TempDir>,
}

impl LoopDevice {
    /// Creates a device of `bytes`. Skips the test if this host or user cannot.
    #[track_caller]
    pub fn new(bytes: u64) -> Option<Self> {
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        let image = directory.path().join("image");
        Self::attach(&image, bytes, Some(directory))
    }

    /// Creates a device of `bytes` on the new file `image`. Skips the test if this host or user cannot.
    #[track_caller]
    pub fn on(image: &Path, bytes: u64) -> Option<Self> {
        Self::attach(image, bytes, None)
    }

    #[track_caller]
    fn attach(image: &Path, bytes: u64, directory: Option<TempDir>) -> Option<Self> {
        File::create(image).unwrap().set_len(bytes).unwrap();
        let created = Command::new("losetup").args(["--find", "--show", "--partscan"]).arg(image).output();
        let Some(output) = created.ok().filter(|output| output.status.success()) else {
            skip(Cause::Root, "a loop device needs root and losetup");
            return None;
        };
        let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        Some(Self { path, image: image.to_owned(), _directory: directory })
    }

    /// Runs a program on it. Returns whether it succeeded.
    pub fn run(&self, program: &str, arguments: &[&str]) -> bool {
        succeeds(Command::new(program).args(arguments).arg(&self.path))
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        succeeds(Command::new("losetup").arg("--detach").arg(&self.path));
    }
}

/// A separate file system, mounted until dropped.
#[derive(Debug)]
pub struct SmallDisk {
    place: PathBuf,
    _device: LoopDevice,
}

impl SmallDisk {
    /// Creates one of `bytes`, mounted at `place`. Skips the test if this host or user cannot.
    #[track_caller]
    pub fn at(place: &Path, bytes: u64) -> Option<Self> {
        Self::of(LoopDevice::new(bytes)?, place)
    }

    /// Creates one of the whole of `device`, mounted at `place`. Skips the test if this host or user cannot.
    #[track_caller]
    pub fn of(device: LoopDevice, place: &Path) -> Option<Self> {
        fs::create_dir_all(place).unwrap();
        // Blocks of the size of pages, as on larger file systems: SQLite allocates its shared memory by pages, and with
        // smaller blocks only the last block of a page is sure to be allocated.
        let mounted = device.run("mkfs.ext4", &["-qF", "-m", "0", "-b", "4096"])
            && succeeds(Command::new("mount").args(["-o", "nodiscard"]).arg(&device.path).arg(place));
        if !mounted {
            skip(Cause::Root, "mounting a small file system needs root");
        }
        mounted.then(|| Self { place: place.to_owned(), _device: device })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily, since an engine's threads may close their last file after the engine.
        succeeds(Command::new("umount").arg("--lazy").arg(&self.place));
    }
}

/// The memory file system at `/dev/shm`. Skips the test if there is none.
#[track_caller]
pub fn memory_file_system() -> Option<&'static Path> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let is_memory = mounts.lines().any(|line| line.split(' ').skip(1).take(2).eq(["/dev/shm", "tmpfs"]));
    if !is_memory {
        skip(Cause::Tmpfs, "no tmpfs at /dev/shm");
    }
    is_memory.then_some(Path::new("/dev/shm"))
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}
