//! The reverse of a step.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use manometer_measure::{Clock as _, MonotonicClock};
use serde::{Deserialize, Serialize};

use crate::{LabError, program};

/// How long the kernel may take to remove a device.
const PATIENCE: Duration = Duration::from_secs(60);
const INTERVAL_NS: u64 = 20_000_000;

/// How a step is undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Undo {
    /// A program does it.
    Run {
        /// The program and its arguments.
        words: Vec<String>,
    },
    /// Writing to a file of the kernel does it, which may be gone already; then `gone` is waited for to vanish.
    Stop {
        /// The file.
        file: PathBuf,
        /// What vanishes.
        gone: PathBuf,
    },
    /// A file is removed.
    RemoveFile {
        /// The file.
        file: PathBuf,
    },
    /// An empty directory is removed.
    RemoveDirectory {
        /// The directory.
        directory: PathBuf,
    },
}

impl Undo {
    /// A program with arguments.
    pub(super) fn run(words: &[&str]) -> Self {
        Self::Run { words: words.iter().map(|word| (*word).to_owned()).collect() }
    }

    /// Undoes the step.
    pub(super) fn perform(&self) -> Result<(), LabError> {
        match self {
            Self::Run { words } => {
                let arguments: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
                program::run(words.first().map_or("", String::as_str), &arguments).map(drop)
            }
            Self::Stop { file, gone } => {
                if file.exists() {
                    write_kernel_file(file, "1")?;
                }
                wait_until(&format!("{} to vanish", gone.display()), || !gone.exists())
            }
            Self::RemoveFile { file } => ignore_missing(file, fs::remove_file(file)),
            Self::RemoveDirectory { directory } => ignore_missing(directory, fs::remove_dir(directory)),
        }
    }

    /// The step in words.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Run { words } => words.join(" "),
            Self::Stop { file, .. } => format!("echo 1 > {}", file.display()),
            Self::RemoveFile { file } => format!("rm {}", file.display()),
            Self::RemoveDirectory { directory } => format!("rmdir {}", directory.display()),
        }
    }
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
