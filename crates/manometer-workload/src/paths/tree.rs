//! The tree on the file system: creating it, and the paths in it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use manometer_trace::synthesis::paths::{FileSizes, PathTree};

use super::plan::PathsPlan;
use crate::file_threads::FilesError;
use crate::file_threads::creation::{ReportProgress, check_room, create_files};

/// Creates the files and directories of `plan` below `root`, unless `progress` breaks; `seed` decides the sizes, `data_seed` the
/// bytes.
#[expect(clippy::disallowed_methods, reason = "many, in the directory that the worker has created and locked")]
pub(super) fn create(
    plan: &PathsPlan,
    root: &Path,
    (seed, data_seed): (u64, u64),
    progress: &mut ReportProgress<'_>,
) -> Result<(), FilesError> {
    let (tree, sizes) = (PathTree::new(&plan.model), FileSizes::new(plan.model.mean_file_bytes, seed));
    let total = tree.files();
    check_room(root, tree.directories(), (0..total).map(|file| sizes.of(file)))?;
    for directory in 0..tree.directories() {
        if progress(0, total).is_break() {
            return Ok(());
        }
        let path = below(root, |path| tree.push_directory(directory, path));
        fs::create_dir_all(&path).map_err(|source| FilesError::of("making", &path, source))?;
    }
    let files = (0..total).map(|file| (below(root, |path| tree.push_path(file, path)), sizes.of(file)));
    create_files(root, files, total, data_seed, progress)
}

/// The path below `root` that `push` appends.
fn below(root: &Path, push: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
    let mut path = Vec::new();
    push(&mut path);
    root.join(OsStr::from_bytes(&path))
}

/// The path of the file or directory in use. What the one before has in common with it is kept.
pub(super) struct PathBuffer {
    tree: PathTree,
    /// The root, with a slash, and the path below it.
    bytes: Vec<u8>,
    root_length: usize,
    directory: Option<u64>,
    directory_end: usize,
}

impl PathBuffer {
    pub(super) fn new(root: &Path, tree: PathTree) -> Self {
        let mut bytes = root.as_os_str().as_bytes().to_vec();
        bytes.push(b'/');
        Self { tree, root_length: bytes.len(), directory: None, directory_end: bytes.len(), bytes }
    }

    /// Goes to `file`.
    pub(super) fn set_file(&mut self, file: u64) {
        self.set_directory(self.tree.directory_of(file));
        if self.directory_end > self.root_length {
            self.bytes.push(b'/');
        }
        self.tree.push_name(file, &mut self.bytes);
    }

    /// Goes to the directory of `file`.
    pub(super) fn set_directory_of(&mut self, file: u64) {
        self.set_directory(self.tree.directory_of(file));
        if self.directory_end == self.root_length {
            self.bytes.push(b'.');
        }
    }

    fn set_directory(&mut self, directory: u64) {
        if self.directory == Some(directory) {
            return self.bytes.truncate(self.directory_end);
        }
        self.bytes.truncate(self.root_length);
        self.tree.push_directory(directory, &mut self.bytes);
        self.directory = Some(directory);
        self.directory_end = self.bytes.len();
    }

    /// The path relative to the root.
    pub(super) fn relative(&self) -> &[u8] {
        &self.bytes[self.root_length..]
    }

    /// The whole path.
    pub(super) fn whole(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use manometer_measure::ByteSize;

    use super::super::PathsSettings;
    use super::*;

    fn plan(files: u64, depth: &str, mean_bytes: u64) -> PathsPlan {
        let settings = PathsSettings {
            files: Some(files),
            depth: depth.parse().unwrap(),
            directory_width: 5,
            mean_file_size: ByteSize(mean_bytes),
            ..PathsSettings::default()
        };
        PathsPlan::new(&settings).unwrap()
    }

    fn files_below(folder: &Path) -> Vec<(PathBuf, u64)> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => found.extend(files_below(&entry.path())),
                false => found.push((entry.path(), entry.metadata().unwrap().len())),
            }
        }
        found.sort();
        found
    }

    #[test]
    fn every_file_is_where_its_path_says_with_the_size_that_the_seed_draws() {
        for (files, depth, mean_bytes) in [(60, "3-4", 500), (5, "1", 100), (23, "6", 0)] {
            let (dir, plan) = (tempfile::tempdir_in("/var/tmp").unwrap(), plan(files, depth, mean_bytes));
            let mut reported = Vec::new();
            let mut progress = |done, total| {
                reported.push((done, total));
                ControlFlow::Continue(())
            };
            create(&plan, dir.path(), (7, 1), &mut progress).unwrap();
            assert_eq!((reported.first(), reported.last()), (Some(&(0, files)), Some(&(files, files))));
            let (tree, sizes) = (PathTree::new(&plan.model), FileSizes::new(mean_bytes, 7));
            let mut path = PathBuffer::new(dir.path(), tree);
            let mut expected: Vec<(PathBuf, u64)> = (0..files)
                .map(|file| {
                    path.set_file(file);
                    (path.whole().to_owned(), sizes.of(file))
                })
                .collect();
            expected.sort();
            assert_eq!(files_below(dir.path()), expected);
        }
    }

    #[test]
    fn a_buffer_goes_from_any_place_to_any_other() {
        let tree = PathTree::new(&plan(15, "1-3", 0).model);
        let mut path = PathBuffer::new(Path::new("/r"), tree.clone());
        let text = |path: &PathBuffer| String::from_utf8(path.relative().to_vec()).unwrap();
        for file in [0, 1, 7, 13, 14, 12, 0] {
            let mut expected = Vec::new();
            tree.push_path(file, &mut expected);
            path.set_file(file);
            assert_eq!(path.relative(), expected);
            assert_eq!(path.whole(), Path::new("/r").join(text(&path)));
            path.set_directory_of(file);
            let expected = String::from_utf8(expected).unwrap();
            assert_eq!(text(&path), expected.rsplit_once('/').map_or(".", |(directory, _)| directory));
        }
    }
}
