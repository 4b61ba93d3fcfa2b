//! The file system of the device directory: its size and free space.

use std::path::{Path, PathBuf};

use super::super::mount::statvfs;
use super::super::observer::{Observer, ObserverKind, boxed};
use crate::samples::{Column, columns_from};

pub(super) const OBSERVER: ObserverKind = ObserverKind {
    series: "filesystem",
    description: "The file system of the device directory.",
    columns,
    create: |subject| boxed(subject.host_directory().map(FileSystem::new)),
};

pub(super) fn columns() -> Vec<Column> {
    columns_from(
        "statvfs",
        &[
            ("size", "B", "The file system's size."),
            ("free", "B", "Free space, the part reserved for root included."),
            ("available", "B", "Free space available to all users."),
            ("free_inodes", "", "Files that can still be created."),
        ],
    )
}

#[derive(Debug)]
pub(super) struct FileSystem(PathBuf);

impl FileSystem {
    pub(super) fn new(dir: &Path) -> Self {
        Self(dir.to_owned())
    }
}

impl Observer for FileSystem {
    fn series(&self) -> &str {
        "filesystem"
    }

    fn columns(&self) -> Vec<Column> {
        columns()
    }

    fn sample(&mut self, _: u64) -> Vec<Option<f64>> {
        let Some(stat) = statvfs(&self.0) else { return vec![None; columns().len()] };
        let bytes = |blocks: u64| Some(blocks as f64 * stat.f_frsize as f64);
        vec![bytes(stat.f_blocks), bytes(stat.f_bfree), bytes(stat.f_bavail), Some(stat.f_favail as f64)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_free_space_does_not_exceed_the_size() {
        let row = FileSystem::new(Path::new(".")).sample(0);
        assert!(row[0] > Some(0.0));
        assert!(row[1] <= row[0] && row[2] <= row[1]);
    }
}
