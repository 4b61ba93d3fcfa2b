//! The folder of the file that fills free space during preconditioning. It is removed afterwards.

use std::io;

use manometer_measure::Directory;
use rustix::fs::OFlags;

use super::error::PrepareError;

/// The name of the folder.
pub(super) const SCRATCH_FOLDER: &str = ".manometer-scratch";

/// Removes the folder from the device directory, where it exists.
///
/// # Errors
/// It cannot be removed.
pub(super) fn remove_scratch(directory: &Directory) -> Result<(), PrepareError> {
    let removed = match directory.directory(SCRATCH_FOLDER).and_then(|folder| truncate_files(&folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        // ext4 frees blocks when it commits its journal: the next step must find them free.
        truncated => {
            truncated.and_then(|()| directory.remove_tree(SCRATCH_FOLDER)).and_then(|()| directory.sync_file_system())
        }
    };
    removed.map_err(|source| PrepareError::Leftover { path: directory.path().join(SCRATCH_FOLDER), source })
}

/// Truncates the files in `folder`. A file that is only removed keeps its space until the kernel has released the
/// io_uring of its writer, which may be after the writer's end.
fn truncate_files(folder: &Directory) -> io::Result<()> {
    let mut files = folder.entries()?.into_iter().filter(|(_, kind)| kind.is_file());
    files.try_for_each(|(name, _)| folder.open_file(name, OFlags::WRONLY)?.set_len(0))
}
