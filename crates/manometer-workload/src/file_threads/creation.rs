//! Creates the files of a workload, where they fit.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use manometer_measure::ByteSize;
use manometer_target::file::DataGenerator;
use rustix::fs::statvfs;

use super::FilesError;
use super::file_io::{IO_BYTES, create, write_bytes};

/// Receives how much is done of how much; where it breaks, the rest is left out.
pub(crate) type ReportProgress<'a> = dyn FnMut(u64, u64) -> ControlFlow<()> + 'a;

/// The free space of a file system.
#[derive(Debug, Clone, Copy)]
struct FreeSpace {
    block_bytes: u64,
    free_bytes: u64,
    /// `None` if it creates inodes on demand.
    free_inodes: Option<u64>,
}

impl FreeSpace {
    fn of(root: &Path) -> Result<Self, FilesError> {
        let known = statvfs(root).map_err(|error| FilesError::of("examining", root, error.into()))?;
        let block_bytes = known.f_frsize.max(1);
        Ok(Self {
            block_bytes,
            free_bytes: known.f_bavail.saturating_mul(block_bytes),
            free_inodes: (known.f_files > 0).then_some(known.f_favail),
        })
    }

    /// Checks that `files` files and directories of `wanted` bytes in all fit below `root`.
    fn check(&self, root: &Path, files: u64, wanted: u64) -> Result<(), FilesError> {
        let path = root.to_owned();
        if wanted > self.free_bytes {
            let (wanted, free) = (ByteSize(wanted), ByteSize(self.free_bytes));
            return Err(FilesError::NoSpace { path, files, wanted, free, setting: "files" });
        }
        match self.free_inodes.filter(|free| *free < files) {
            Some(free) => Err(FilesError::NoInodes { path, files, free }),
            None => Ok(()),
        }
    }
}

/// Checks that files of these `sizes`, and `directories` of a block each, fit below `root`, in whole blocks.
///
/// # Errors
/// They need more bytes or inodes than are free.
pub(crate) fn check_room(root: &Path, directories: u64, sizes: impl Iterator<Item = u64>) -> Result<(), FilesError> {
    let room = FreeSpace::of(root)?;
    let (files, wanted) = needed(sizes.chain((0..directories).map(|_| 1)), room.block_bytes);
    room.check(root, files, wanted)
}

/// The number of files of these `sizes`, and their bytes in whole blocks.
fn needed(sizes: impl Iterator<Item = u64>, block_bytes: u64) -> (u64, u64) {
    let in_blocks = sizes.map(|bytes| bytes.checked_next_multiple_of(block_bytes).unwrap_or(u64::MAX));
    in_blocks.fold((0, 0), |(files, wanted), bytes| (files + 1, wanted.saturating_add(bytes)))
}

/// Creates `total` files below `root`, each with its path and bytes, unless `progress` breaks, and makes them durable. The
/// bytes follow from `data_seed`.
///
/// # Errors
/// A file cannot be created or written.
pub(crate) fn create_files(
    root: &Path,
    files: impl Iterator<Item = (PathBuf, u64)>,
    total: u64,
    data_seed: u64,
    progress: &mut ReportProgress<'_>,
) -> Result<(), FilesError> {
    let mut data = DataGenerator::new(data_seed);
    let mut buffer = vec![0; IO_BYTES];
    for ((path, bytes), done) in files.zip(0..) {
        if progress(done, total).is_break() {
            return Ok(());
        }
        let made = create(&path).and_then(|file| write_bytes(&file, bytes, &mut data, &mut buffer));
        made.map_err(|source| FilesError::of("making", &path, source))?;
    }
    // Pending writes to the device would be measured.
    let synced = File::open(root).and_then(|root| Ok(rustix::fs::syncfs(&root)?));
    synced.map_err(|source| FilesError::of("making durable", root, source))?;
    let _ = progress(total, total);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_need_bytes_and_inodes() {
        let room = |free_inodes| FreeSpace { block_bytes: 4096, free_bytes: 1 << 20, free_inodes };
        let check = |room: FreeSpace, files, wanted| room.check(Path::new("/d"), files, wanted);
        assert!(check(room(Some(10)), 10, 1 << 20).is_ok());
        assert!(matches!(check(room(Some(10)), 10, (1 << 20) + 1), Err(FilesError::NoSpace { .. })));
        let error = check(room(Some(10)), 11, 1).unwrap_err();
        assert!(matches!(&error, FilesError::NoInodes { files: 11, free: 10, .. }), "{error}");
        assert!(error.to_string().contains("more inodes"), "{error}");
        assert!(check(room(None), 1 << 40, 1).is_ok());
        assert!(FreeSpace::of(Path::new("/var/tmp")).unwrap().free_bytes > 0);
    }

    #[test]
    fn a_file_takes_whole_blocks() {
        assert_eq!(needed([0, 1, 4096, 4097].into_iter(), 4096), (4, 4 * 4096));
        assert_eq!(needed([u64::MAX, 1].into_iter(), 4096), (2, u64::MAX));
        check_room(Path::new("/var/tmp"), 1, [0, 1].into_iter()).unwrap();
        let error = check_room(Path::new("/var/tmp"), 2, [1 << 50].into_iter()).unwrap_err();
        assert!(matches!(error, FilesError::NoSpace { files: 3, .. }), "{error}");
    }
}
