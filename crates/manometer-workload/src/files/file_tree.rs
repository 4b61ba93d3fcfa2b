//! The files of a file server or a mail server.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use manometer_measure::ByteSize;
use manometer_target::file::DataGenerator;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;
use rustix::fs::statvfs;

use super::FilesError;
use super::directory_tree::DirectoryTree;
use super::file_io::{IO_BYTES, create, write_bytes};
use super::file_pool::FilePool;
use super::plan::FilesPlan;
use super::sizes::Sizes;

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

    /// Checks that `files` files of `wanted` bytes in all fit below `root`.
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

/// Many files of many sizes.
#[derive(Debug)]
pub(super) struct FileTree {
    root: PathBuf,
    pub(super) tree: DirectoryTree,
    pub(super) pool: FilePool,
    pub(super) sizes: Sizes,
}

impl FileTree {
    /// The files of `plan` and `seed` below `root`, as they are at the start.
    pub(super) fn new(plan: &FilesPlan, seed: u64, root: &Path) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self {
            root: root.to_owned(),
            tree: DirectoryTree::new(root, plan.files, plan.directory_width),
            pool: FilePool::new(plan.files, plan.present(), &mut random),
            sizes: Sizes::new(plan.mean_file_bytes, seed),
        }
    }

    /// Creates the files that exist at the start. `progress` receives the bytes written and required; where it breaks, some
    /// files are not created.
    pub(super) fn create(
        &self,
        plan: &FilesPlan,
        data_seed: u64,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<(), FilesError> {
        let mut present = self.pool.present();
        present.sort_unstable();
        let total = self.check_room(&present)?;
        self.create_directories(plan)?;
        let mut data = DataGenerator::new(data_seed);
        let mut buffer = vec![0; IO_BYTES];
        let mut done = 0;
        for taken_file in present {
            if progress(done, total).is_break() {
                return Ok(());
            }
            let (path, bytes) = (self.tree.path(taken_file), self.sizes.of(taken_file));
            let made = create(&path).and_then(|file| write_bytes(&file, bytes, &mut data, &mut buffer));
            made.map_err(|source| FilesError::of("making", &path, source))?;
            done += bytes;
        }
        // Pending writes to the device would be measured.
        let synced = File::open(&self.root).and_then(|root| Ok(rustix::fs::syncfs(&root)?));
        synced.map_err(|source| FilesError::of("making durable", &self.root, source))?;
        let _ = progress(total, total);
        Ok(())
    }

    /// The bytes of the files `present`, where they fit.
    fn check_room(&self, present: &[u32]) -> Result<u64, FilesError> {
        let room = FreeSpace::of(&self.root)?;
        let sizes = || present.iter().map(|taken_file| self.sizes.of(*taken_file));
        let wanted = sizes().map(|bytes| bytes.next_multiple_of(room.block_bytes)).fold(0, u64::saturating_add);
        room.check(&self.root, present.len() as u64, wanted)?;
        Ok(sizes().sum())
    }

    /// Creates the directories of all files, also of those that do not exist at the start.
    fn create_directories(&self, plan: &FilesPlan) -> Result<(), FilesError> {
        let step = usize::try_from(plan.directory_width.max(1)).unwrap_or(usize::MAX);
        let last = if plan.directory_width == 0 { 1 } else { plan.files };
        for taken_file in (0..u32::try_from(last).unwrap_or(u32::MAX)).step_by(step) {
            let path = self.tree.directory(taken_file);
            fs::create_dir_all(&path).map_err(|source| FilesError::of("making", &path, source))?;
        }
        Ok(())
    }
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
}
