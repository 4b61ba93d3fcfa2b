//! The files of a file server or a mail server.

use std::fs;
use std::path::{Path, PathBuf};

use manometer_trace::synthesis::paths::FileSizes;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::FilesError;
use super::directory_tree::DirectoryTree;
use super::file_pool::FilePool;
use super::plan::FilesPlan;
use super::settings::Personality;
use crate::file_threads::creation::{ReportProgress, check_room, create_files};

/// Many files of many sizes.
#[derive(Debug)]
pub(super) struct FileTree {
    root: PathBuf,
    pub(super) tree: DirectoryTree,
    pub(super) pool: FilePool,
    sizes: FileSizes,
    pub(super) personality: Personality,
    pub(super) mean_append_bytes: u64,
}

impl FileTree {
    /// The files of `plan` and `seed` below `root`, as they are at the start.
    pub(super) fn new(plan: &FilesPlan, seed: u64, root: &Path) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self {
            root: root.to_owned(),
            tree: DirectoryTree::new(root, plan.files, plan.directory_width),
            pool: FilePool::new(plan.files, plan.present(), &mut random),
            sizes: FileSizes::new(plan.mean_file_bytes, seed),
            personality: plan.personality,
            mean_append_bytes: plan.mean_append_bytes,
        }
    }

    /// Creates the files that exist at the start, unless `progress` breaks.
    pub(super) fn create(
        &self,
        plan: &FilesPlan,
        data_seed: u64,
        progress: &mut ReportProgress<'_>,
    ) -> Result<(), FilesError> {
        let mut present = self.pool.present();
        present.sort_unstable();
        check_room(&self.root, 0, present.iter().map(|taken_file| self.size_of(*taken_file)))?;
        self.create_directories(plan)?;
        let total = present.len() as u64;
        let files = present.into_iter().map(|taken_file| (self.tree.path(taken_file), self.size_of(taken_file)));
        create_files(&self.root, files, total, data_seed, progress)
    }

    /// Bytes of the file `taken_file` when all of it is written.
    pub(super) fn size_of(&self, taken_file: u32) -> u64 {
        self.sizes.of(u64::from(taken_file))
    }

    /// Creates the directories of all files, also of those that do not exist at the start.
    #[expect(clippy::disallowed_methods, reason = "many, in the directory that the worker has created and locked")]
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
