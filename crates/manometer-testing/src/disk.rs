//! Small disks for tests of what fills, wears out, or is erased.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::skip::{Cause, skip};

/// A loop device on a sparse file.
#[derive(Debug)]
pub struct LoopDevice {
    /// Its node below `/dev`.
    pub path: PathBuf,
    image: TempDir,
}

impl LoopDevice {
    /// A device of `bytes`. Skips the test where this host or user cannot have one.
    #[track_caller]
    pub fn new(bytes: u64) -> Option<Self> {
        let image = tempfile::tempdir_in("/var/tmp").unwrap();
        let file = image.path().join("image");
        File::create(&file).unwrap().set_len(bytes).unwrap();
        let created = Command::new("losetup").args(["--find", "--show", "--partscan"]).arg(&file).output();
        let Some(output) = created.ok().filter(|output| output.status.success()) else {
            skip(Cause::Root, "a loop device needs root and losetup");
            return None;
        };
        let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        Some(Self { path, image })
    }

    /// The file that holds its bytes.
    pub fn image(&self) -> PathBuf {
        self.image.path().join("image")
    }

    /// Runs a program on it; whether it succeeded.
    pub fn run(&self, program: &str, arguments: &[&str]) -> bool {
        succeeds(Command::new(program).args(arguments).arg(&self.path))
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        succeeds(Command::new("losetup").arg("--detach").arg(&self.path));
    }
}

/// A file system of its own, mounted while this lives.
#[derive(Debug)]
pub struct SmallDisk {
    place: PathBuf,
    _device: LoopDevice,
}

impl SmallDisk {
    /// One of `bytes`, mounted at `place`. Skips the test where this host or user cannot mount one.
    #[track_caller]
    pub fn at(place: &Path, bytes: u64) -> Option<Self> {
        let device = LoopDevice::new(bytes)?;
        fs::create_dir_all(place).unwrap();
        // Blocks as large as pages, as file systems of a usual size have: SQLite takes room for its shared memory page
        // by page, and where a page is several blocks only the last is sure to be there.
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
        // Lazily: an engine's threads may close their last file after the engine is gone.
        succeeds(Command::new("umount").arg("--lazy").arg(&self.place));
    }
}

/// The memory file system at `/dev/shm`. Skips the test where there is none.
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
