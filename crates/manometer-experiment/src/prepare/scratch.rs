//! The folder of the file that fills free space during preconditioning. It is removed afterwards.

use std::fs;
use std::io;
use std::path::Path;

use super::error::PrepareError;

/// The name of the folder.
pub(super) const SCRATCH_FOLDER: &str = ".manometer-scratch";

/// Removes the folder from the device directory, where it exists.
///
/// # Errors
/// It cannot be removed.
pub(super) fn remove_scratch(directory: &Path) -> Result<(), PrepareError> {
    let path = directory.join(SCRATCH_FOLDER);
    let removed = match truncate_files(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        // ext4 frees blocks when it commits its journal: the next step must find them free.
        truncated => truncated
            .and_then(|()| fs::remove_dir_all(&path))
            .and_then(|()| Ok(rustix::fs::syncfs(fs::File::open(directory)?)?)),
    };
    removed.map_err(|source| PrepareError::Leftover { path, source })
}

/// Truncates the files in `folder`. A file that is only removed keeps its space until the kernel has released the
/// io_uring of its writer, which may be after the writer's end.
fn truncate_files(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::OpenOptions::new().write(true).open(entry.path())?.set_len(0)?;
        }
    }
    Ok(())
}
