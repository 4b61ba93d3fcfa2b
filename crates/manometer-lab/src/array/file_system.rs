//! The file system on top.

use std::fs;
use std::path::Path;

use super::journal::ArrayJournal;
use super::undo::Undo;
use crate::{LabError, program};

/// A file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystem {
    /// ext4.
    Ext4,
    /// XFS.
    Xfs,
}

impl FileSystem {
    /// The program that makes it, and its package.
    pub(super) fn program(self) -> (&'static str, &'static str) {
        match self {
            Self::Ext4 => ("mkfs.ext4", "e2fsprogs"),
            Self::Xfs => ("mkfs.xfs", "xfsprogs"),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
        }
    }

    /// Nothing is left to be initialised while it is measured.
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Ext4 => &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
            Self::Xfs => &["-q", "-f"],
        }
    }
}

/// Makes a file system on `device` and mounts it at `point`.
pub(super) fn mount(
    file_system: FileSystem,
    device: &Path,
    point: &Path,
    journal: &mut ArrayJournal,
) -> Result<(), LabError> {
    let (device, at) = (device.display().to_string(), point.display().to_string());
    let mut arguments = file_system.options().to_vec();
    arguments.push(&device);
    program::run(file_system.program().0, &arguments)?;
    if !point.exists() {
        journal.record(Undo::RemoveDirectory { directory: point.to_owned() })?;
        fs::create_dir_all(point).map_err(LabError::at(point))?;
    }
    program::run("mount", &["-t", file_system.name(), &device, &at])?;
    journal.record(Undo::run(&["umount", &at]))
}
