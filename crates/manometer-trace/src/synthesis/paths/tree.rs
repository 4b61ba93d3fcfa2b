//! The names of the files and directories of a tree.

use super::PathModel;

/// A tree: file `n` lies in directory `n / directory_width`, and a path follows from the number alone.
///
/// Directories take turns in depth. The directories above those with files are numbered level by level, so that a name says
/// the number of its directory among those of its level: `d0/d0/d4/d87/f0000001744`.
#[derive(Debug, Clone)]
pub struct PathTree {
    files: u64,
    width: u64,
    depths: u64,
    min_depth: u32,
}

impl PathTree {
    /// The tree of `model`, which is valid.
    pub fn new(model: &PathModel) -> Self {
        Self { files: model.files, width: model.directory_width, depths: model.depth.len(), min_depth: model.depth.min }
    }

    /// The number of files.
    pub fn files(&self) -> u64 {
        self.files
    }

    /// The number of directories that hold files.
    pub fn directories(&self) -> u64 {
        self.files.div_ceil(self.width)
    }

    /// The directory of the file `file`.
    pub fn directory_of(&self, file: u64) -> u64 {
        file / self.width
    }

    /// The first file of `directory`, and how many it holds.
    pub fn files_of(&self, directory: u64) -> (u64, u64) {
        let first = directory * self.width;
        (first, self.width.min(self.files - first))
    }

    /// Components of the path of `directory`; 0 for the root.
    pub fn directory_depth(&self, directory: u64) -> u32 {
        self.min_depth + (directory % self.depths) as u32 - 1
    }

    /// Appends the path of `directory`, relative to the root; nothing for the root.
    pub fn push_directory(&self, directory: u64, path: &mut Vec<u8>) {
        let (depth, last) = (self.directory_depth(directory), directory / self.depths);
        for level in 1..=depth {
            if level > 1 {
                path.push(b'/');
            }
            // Above the root of the numbering every number is 0.
            let below = self.width.checked_pow(depth - level);
            path.push(b'd');
            push_number(below.map_or(0, |below| last / below), 1, path);
        }
    }

    /// Appends the name of `file` within its directory.
    pub fn push_name(&self, file: u64, path: &mut Vec<u8>) {
        path.push(b'f');
        push_number(file, 10, path);
    }

    /// Appends the path of `file`, relative to the root.
    pub fn push_path(&self, file: u64, path: &mut Vec<u8>) {
        let directory = self.directory_of(file);
        self.push_directory(directory, path);
        if self.directory_depth(directory) > 0 {
            path.push(b'/');
        }
        self.push_name(file, path);
    }
}

/// Appends `number` in decimal with at least `digits` digits. The standard formatter costs several times as much, between any
/// two accesses.
fn push_number(number: u64, digits: usize, path: &mut Vec<u8>) {
    let mut text = [b'0'; 20];
    let (mut at, mut left) = (text.len(), number);
    while left > 0 || at == text.len() {
        at -= 1;
        text[at] += (left % 10) as u8;
        left /= 10;
    }
    path.extend_from_slice(&text[at.min(text.len() - digits)..]);
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::super::{DepthRange, PathModel};
    use super::*;

    fn model(files: u64, width: u64, depth: (u32, u32)) -> PathModel {
        let depth = DepthRange { min: depth.0, max: depth.1 };
        let model = PathModel { files, directory_width: width, depth, ..PathModel::default() };
        model.check().unwrap();
        model
    }

    fn text(path: Vec<u8>) -> String {
        String::from_utf8(path).unwrap()
    }

    fn path(tree: &PathTree, file: u64) -> String {
        let mut path = Vec::new();
        tree.push_path(file, &mut path);
        text(path)
    }

    #[test]
    fn numbers_are_decimal() {
        for (number, digits, wanted) in
            [(0, 1, "0"), (7, 3, "007"), (1024, 3, "1024"), (u64::MAX, 10, "18446744073709551615")]
        {
            let mut path = Vec::new();
            push_number(number, digits, &mut path);
            assert_eq!(text(path), wanted);
        }
    }

    #[test]
    fn every_file_has_a_path_of_its_own_at_its_depth_and_no_directory_is_wider_than_it_may_be() {
        for (files, width, depth) in [
            (1, 1, (1, 1)),
            (20, 20, (1, 1)),
            (999, 10, (3, 3)),
            (5000, 20, (8, 10)),
            (64, 2, (5, 7)),
            (9, 3, (128, 128)),
        ] {
            let tree = PathTree::new(&model(files, width, depth));
            let mut held: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            for file in 0..files {
                let path = path(&tree, file);
                let components = path.split('/').count() as u32;
                assert_eq!(components, tree.directory_depth(tree.directory_of(file)) + 1);
                assert!((depth.0..=depth.1).contains(&components), "{path}");
                let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
                let mut parent = String::new();
                for end in ends {
                    held.entry(parent).or_default().insert(path[..end].to_owned());
                    parent = path[..end].to_owned();
                }
            }
            let names = held.values().flatten().filter(|path| !held.contains_key(*path)).count() as u64;
            assert_eq!(names, files, "each file has a path of its own");
            for (parent, children) in held {
                let (directories, files): (Vec<_>, Vec<_>) =
                    children.iter().partition(|path| path.rsplit('/').next().unwrap().starts_with('d'));
                assert!(files.len() as u64 <= width && directories.len() as u64 <= width, "{parent}");
            }
        }
    }

    #[test]
    fn a_directory_knows_its_files() {
        let tree = PathTree::new(&model(45, 20, (2, 3)));
        assert_eq!((tree.files(), tree.directories()), (45, 3));
        assert_eq!((tree.files_of(0), tree.files_of(2)), ((0, 20), (40, 5)));
        assert!((0..45).all(|file| {
            let (first, count) = tree.files_of(tree.directory_of(file));
            (first..first + count).contains(&file)
        }));
        assert_eq!(path(&tree, 44), "d1/f0000000044");
        assert_eq!(path(&tree, 20), "d0/d0/f0000000020");
    }
}
