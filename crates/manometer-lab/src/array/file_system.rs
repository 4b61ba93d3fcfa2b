//! The file system on top.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use manometer_experiment::definition::FileSystem;

use super::journal::{self, ArrayJournal};
use super::undo::Undo;
use crate::{LabError, program};

/// The program that makes a file system, and its package.
pub(super) fn maker(file_system: FileSystem) -> (&'static str, &'static str) {
    match file_system {
        FileSystem::Ext4 => ("mkfs.ext4", "e2fsprogs"),
        FileSystem::Xfs => ("mkfs.xfs", "xfsprogs"),
    }
}

fn name(file_system: FileSystem) -> &'static str {
    match file_system {
        FileSystem::Ext4 => "ext4",
        FileSystem::Xfs => "xfs",
    }
}

/// Nothing is left to be initialised while it is measured.
fn options(file_system: FileSystem) -> &'static [&'static str] {
    match file_system {
        FileSystem::Ext4 => &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
        FileSystem::Xfs => &["-q", "-f"],
    }
}

/// Makes a file system on `device` and mounts it at `point`.
pub(super) fn mount(
    file_system: FileSystem,
    path: &Path,
    point: &Path,
    journal: &mut ArrayJournal,
) -> Result<(), LabError> {
    let (device, at) = (path.display().to_string(), point.display().to_string());
    let mut arguments = options(file_system).to_vec();
    arguments.push(&device);
    program::run(maker(file_system).0, &arguments)?;
    if !point.exists() {
        journal.record(Undo::RemoveDirectory { directory: point.to_owned() })?;
        fs::create_dir(point).map_err(LabError::at(point))?;
    }
    journal.record(Undo::Unmount { point: point.to_owned(), device: path.to_owned() })?;
    program::run("mount", &["-t", name(file_system), &device, &at]).map(drop)
}

/// Checks whether a file system can be mounted at `point`: an empty directory, or one that can be created.
pub(super) fn check_point(point: &Path) -> Result<(), LabError> {
    let refuse = |reason: &str| Err(LabError::Refused(format!("the mount point `{}`: {reason}", point.display())));
    let parent = point.parent().unwrap_or(Path::new("/"));
    if let Some(other) = journal::names().into_iter().find(|name| is_below(point, name)) {
        return refuse(&format!("it is in the array `{other}` of another run"));
    }
    let Ok(above) = fs::metadata(parent) else { return refuse("the directory that it is to be in does not exist") };
    if !above.is_dir() || parent.starts_with("/proc") || parent.starts_with("/sys") {
        return refuse("it cannot be a directory there");
    }
    let Ok(facts) = fs::symlink_metadata(point) else { return Ok(()) };
    match fs::read_dir(point).map(|mut entries| entries.next().is_some()) {
        _ if facts.dev() != above.dev() => refuse("something is mounted there already"),
        Ok(false) => Ok(()),
        Ok(true) => refuse("the directory is not empty"),
        Err(_) => refuse("it is no directory"),
    }
}

/// Whether `point` is in the file system of the array `name` of a run, which that takes apart at its end.
fn is_below(point: &Path, name: &str) -> bool {
    ArrayJournal::read(name).is_ok_and(|journal| {
        let array = journal.array();
        let is_in = |mounted_at: &PathBuf| point != mounted_at && point.starts_with(mounted_at);
        array.of_run && array.mounted_at.as_ref().is_some_and(is_in)
    })
}
