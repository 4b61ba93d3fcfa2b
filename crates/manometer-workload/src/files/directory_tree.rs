//! The paths of files in a tree of directories.

use std::path::{Path, PathBuf};

/// A tree of directories with files at its leaves and a limit of entries per directory.
#[derive(Debug, Clone)]
pub(super) struct DirectoryTree {
    root: PathBuf,
    width: u64,
    /// Directories between the root and a file.
    levels: u32,
}

impl DirectoryTree {
    /// A tree below `root` for `files` files; a `width` of 0 puts all into the root.
    pub(super) fn new(root: &Path, files: u64, width: u64) -> Self {
        let mut levels = 0;
        let mut room = width.max(2);
        while width > 0 && room < files {
            room = room.saturating_mul(width);
            levels += 1;
        }
        Self { root: root.to_owned(), width, levels }
    }

    /// The path of the file `taken_file`.
    pub(super) fn path(&self, taken_file: u32) -> PathBuf {
        let mut path = self.directory(taken_file);
        path.push(format!("{taken_file:08}"));
        path
    }

    /// The directory of the file `taken_file`.
    pub(super) fn directory(&self, taken_file: u32) -> PathBuf {
        let mut path = self.root.clone();
        let mut left = u64::from(taken_file);
        let mut digits = Vec::new();
        for _ in 0..self.levels {
            left /= self.width;
            digits.push(left % self.width);
        }
        digits.iter().rev().for_each(|digit| path.push(format!("d{digit}")));
        path
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn no_directory_holds_more_than_its_width() {
        for (files, width) in [(1_u32, 20_u64), (20, 20), (21, 20), (8000, 20), (1001, 10), (64, 2)] {
            let tree = DirectoryTree::new(Path::new("/r"), u64::from(files), width);
            let mut held: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
            for path in (0..files).map(|taken_file| tree.path(taken_file)) {
                for (child, parent) in path.ancestors().zip(path.ancestors().skip(1)) {
                    held.entry(parent.to_owned()).or_default().insert(child.to_owned());
                }
            }
            let root = Path::new("/r");
            let most = held.iter().filter(|(path, _)| path.starts_with(root)).map(|(_, held)| held.len()).max();
            assert!(most <= Some(width as usize), "{files} files, {width} wide: {most:?}");
            let names: usize = held.values().flatten().filter(|path| !held.contains_key(*path)).count();
            assert_eq!(names as u32, files, "each file has a distinct name");
        }
    }

    #[test]
    fn one_directory_holds_all_files() {
        let tree = DirectoryTree::new(Path::new("/r"), 4_000_000, 0);
        assert_eq!(tree.path(3_999_999), Path::new("/r/03999999"));
        assert_eq!(DirectoryTree::new(Path::new("/r"), 500_000, 20).directory(0), Path::new("/r/d0/d0/d0/d0"));
    }
}
