//! The reverse of a step.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use manometer_measure::{Clock as _, MonotonicClock};
use serde::{Deserialize, Serialize};

use crate::{LabError, program};

/// How long the kernel may take to remove a device.
const PATIENCE: Duration = Duration::from_secs(60);
const INTERVAL_NS: u64 = 20_000_000;

/// How long a file system may be busy.
const UNMOUNT_PATIENCE: Duration = Duration::from_secs(10);

/// The part of a device by which it is judged whether it holds data.
const END_BYTES: u64 = 1 << 20;

/// How a step is undone. What is gone already is undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Undo {
    /// A program does it, while a file is there.
    Run {
        /// The program and its arguments.
        words: Vec<String>,
        /// The file.
        while_there: PathBuf,
    },
    /// Writing to a file of the kernel does it; then `gone` is waited for to vanish.
    Stop {
        /// The file.
        file: PathBuf,
        /// What vanishes.
        gone: PathBuf,
    },
    /// A file system is unmounted.
    Unmount {
        /// Where it is mounted.
        point: PathBuf,
        /// Its device.
        device: PathBuf,
    },
    /// A file is detached from its loop device.
    DetachLoop {
        /// The file.
        file: PathBuf,
    },
    /// A file is removed, as long as it is the same one.
    RemoveFile {
        /// The file.
        file: PathBuf,
        /// Its device and inode.
        identity: (u64, u64),
    },
    /// A file becomes a hole again.
    EmptyFile {
        /// The file.
        file: PathBuf,
        /// Its device and inode.
        identity: (u64, u64),
        /// Its size.
        bytes: u64,
    },
    /// Both ends of the used part of a device read as zeros again, so that it holds no data.
    ClearEnds {
        /// The device.
        device: PathBuf,
        /// The device and inode of its node, which another disk of this name does not have.
        identity: (u64, u64),
        /// The size of the used part.
        bytes: u64,
    },
    /// An empty directory is removed.
    RemoveDirectory {
        /// The directory.
        directory: PathBuf,
    },
}

impl Undo {
    /// A program with arguments.
    pub(super) fn run(words: &[&str], while_there: &Path) -> Self {
        Self::Run { words: words.iter().map(|word| (*word).to_owned()).collect(), while_there: while_there.to_owned() }
    }

    /// Undoes the step.
    pub(super) fn perform(&self) -> Result<(), LabError> {
        match self {
            Self::Run { while_there, .. } if !while_there.exists() => Ok(()),
            Self::Run { words, .. } => {
                let arguments: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
                program::run(words.first().map_or("", String::as_str), &arguments).map(drop)
            }
            Self::Stop { file, gone } => {
                if file.exists() {
                    write_kernel_file(file, "1")?;
                }
                wait_until(&format!("{} to vanish", gone.display()), || !gone.exists())
            }
            Self::Unmount { point, device } => unmount(point, device),
            Self::DetachLoop { file } => detach_loop(file),
            Self::RemoveFile { file, identity } => while_same(file, *identity, || fs::remove_file(file)),
            Self::EmptyFile { file, identity, bytes } => while_same(file, *identity, || empty_file(file, *bytes)),
            Self::ClearEnds { device, identity, bytes } => while_same(device, *identity, || clear_ends(device, *bytes)),
            Self::RemoveDirectory { directory } => ignore_missing(directory, fs::remove_dir(directory)),
        }
    }

    /// The step in words.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Run { words, .. } => words.join(" "),
            Self::Stop { file, .. } => format!("echo 1 > {}", file.display()),
            Self::Unmount { point, .. } => format!("umount {}", point.display()),
            Self::DetachLoop { file } => format!("losetup --detach of {}", file.display()),
            Self::RemoveFile { file, .. } => format!("rm {}", file.display()),
            Self::EmptyFile { file, .. } => format!("truncate {}", file.display()),
            Self::ClearEnds { device, .. } => format!("dd if=/dev/zero of={}", device.display()),
            Self::RemoveDirectory { directory } => format!("rmdir {}", directory.display()),
        }
    }
}

/// Unmounts `device` from `point`, if it is there.
fn unmount(point: &Path, device: &Path) -> Result<(), LabError> {
    let number = |path: &Path| fs::metadata(path).map(|facts| (facts.dev(), facts.rdev()));
    let (Ok((at, _)), Ok((_, of))) = (number(point), number(device)) else { return Ok(()) };
    if at != of {
        return Ok(());
    }
    let end_ns = MonotonicClock.now_ns() + UNMOUNT_PATIENCE.as_nanos() as u64;
    loop {
        match program::run("umount", &[&point.display().to_string()]) {
            // A process that was just ended may still be in a write.
            Err(_) if MonotonicClock.now_ns() < end_ns => MonotonicClock.sleep(INTERVAL_NS),
            done => return done.map(drop),
        }
    }
}

/// Does `work` if `path` leads to what it did when the step was recorded.
fn while_same(path: &Path, identity: (u64, u64), work: impl FnOnce() -> io::Result<()>) -> Result<(), LabError> {
    match fs::metadata(path) {
        Ok(facts) if (facts.dev(), facts.ino()) == identity => ignore_missing(path, work()),
        _ => Ok(()),
    }
}

fn empty_file(file: &Path, bytes: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(file)?;
    file.set_len(0)?;
    file.set_len(bytes)
}

fn clear_ends(device: &Path, bytes: u64) -> io::Result<()> {
    let device = OpenOptions::new().write(true).open(device)?;
    let zeros = vec![0; END_BYTES.min(bytes) as usize];
    device.write_all_at(&zeros, 0)?;
    device.write_all_at(&zeros, bytes - zeros.len() as u64)?;
    device.sync_all()
}

/// Detaches the loop devices of a file.
fn detach_loop(file: &Path) -> Result<(), LabError> {
    if !file.exists() {
        return Ok(());
    }
    let path = file.display().to_string();
    let devices = program::run("losetup", &["--associated", &path, "--noheadings", "--output", "NAME"])?;
    devices.split_whitespace().try_for_each(|device| program::run("losetup", &["--detach", device]).map(drop))
}

fn ignore_missing(path: &Path, result: io::Result<()>) -> Result<(), LabError> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(LabError::at(path)(error)),
        _ => Ok(()),
    }
}

/// Writes to a file of sysfs.
pub(super) fn write_kernel_file(file: &Path, text: &str) -> Result<(), LabError> {
    fs::write(file, text).map_err(LabError::at(file))
}

/// Waits until the kernel has done `what`.
pub(super) fn wait_until(what: &str, is_done: impl Fn() -> bool) -> Result<(), LabError> {
    let end_ns = MonotonicClock.now_ns() + PATIENCE.as_nanos() as u64;
    while !is_done() {
        if MonotonicClock.now_ns() >= end_ns {
            return Err(LabError::Kernel(format!("waited {} s for {what}", PATIENCE.as_secs())));
        }
        MonotonicClock.sleep(INTERVAL_NS);
    }
    Ok(())
}
