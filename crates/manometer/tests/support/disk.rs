//! Small disks for tests of what fills, wears out, or is erased.

#![allow(clippy::print_stdout, reason = "what is skipped on a host is told")]

use std::path::{Path, PathBuf};
use std::process::Command;

fn did(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// A loop device on a sparse file.
pub struct LoopDevice {
    pub path: PathBuf,
    _image: tempfile::TempDir,
}

impl LoopDevice {
    /// A device of `bytes`; nothing where this host lets us make none.
    pub fn new(bytes: u64) -> Option<Self> {
        let image = tempfile::tempdir_in("/var/tmp").unwrap();
        let file = image.path().join("image");
        std::fs::File::create(&file).unwrap().set_len(bytes).unwrap();
        let made = Command::new("losetup").args(["--find", "--show", "--partscan"]).arg(&file).output();
        let Some(output) = made.ok().filter(|output| output.status.success()) else {
            println!("skipped: a loop device needs root and losetup");
            return None;
        };
        let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        Some(Self { path, _image: image })
    }

    /// Runs a program on it.
    pub fn run(&self, program: &str, arguments: &[&str]) -> bool {
        did(Command::new(program).args(arguments).arg(&self.path))
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        did(Command::new("losetup").arg("--detach").arg(&self.path));
    }
}

/// A file system of its own, mounted while this lives.
pub struct SmallDisk {
    place: PathBuf,
    _device: LoopDevice,
}

impl SmallDisk {
    /// One of `bytes`, mounted at `place`; nothing where this host lets us mount none.
    pub fn at(place: &Path, bytes: u64) -> Option<Self> {
        let device = LoopDevice::new(bytes)?;
        std::fs::create_dir_all(place).unwrap();
        let mounted = device.run("mkfs.ext4", &["-qF", "-m", "0"])
            && did(Command::new("mount").args(["-o", "nodiscard"]).arg(&device.path).arg(place));
        if !mounted {
            println!("skipped: mounting a small file system needs root");
        }
        mounted.then(|| Self { place: place.to_owned(), _device: device })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        did(Command::new("umount").arg(&self.place));
    }
}
