//! Accesses to the files of a generated tree: who reads a file next reads its neighbours.
//!
//! [`PathModel`] describes the tree and the accesses. [`PathTree`] names its files and directories, [`FileSizes`] draws
//! their sizes, [`PathAccesses`] the next file, and [`PathGenerator`] is a trace of accesses, with the path as the key. The
//! default model has the character of the archive of Song 2018, section 4.2.2: 100,000 files of 64 KB on average,
//! eight to ten deep, mostly below 100 KB, files of one directory accessed repeatedly. What Song does not say is
//! chosen: files per directory, popularity, the length of stays.

mod accesses;
mod depth;
mod file_sizes;
mod generator;
mod tree;

pub use accesses::PathAccesses;
pub use depth::{DEPTH_MAX, DepthRange};
pub use file_sizes::FileSizes;
pub use generator::PathGenerator;
pub use tree::PathTree;

/// The most files of a tree.
pub const FILES_MAX: u64 = 1 << 32;
/// The largest mean size of a file, in bytes.
const MEAN_FILE_BYTES_MAX: u64 = 1 << 50;
/// The steepest popularity: nine tenths of the accesses go to one directory.
const EXPONENT_MAX: f64 = 10.0;

/// A tree of files, and the accesses to it.
#[derive(Debug, Clone, PartialEq)]
pub struct PathModel {
    /// Files of the tree.
    pub files: u64,
    /// How deep the files lie; a third of the directories at each of three depths, for example.
    pub depth: DepthRange,
    /// Files per directory, and directories per directory.
    pub directory_width: u64,
    /// Bytes of a file on average; 0 for empty files.
    pub mean_file_bytes: u64,
    /// Zipf exponent of the popularity of directories; 0 for equally popular ones.
    pub exponent: f64,
    /// The share of accesses that stay in the directory of the one before and go to its next file; below 1.
    pub locality: f64,
}

impl Default for PathModel {
    fn default() -> Self {
        Self {
            files: 100_000,
            depth: DepthRange { min: 8, max: 10 },
            directory_width: 20,
            mean_file_bytes: 64 << 10,
            exponent: 0.8,
            locality: 0.9,
        }
    }
}

/// A field of a model that is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}`: got {got}; {wanted}")]
pub struct PathModelError {
    /// The field, without its unit.
    pub field: &'static str,
    /// The value.
    pub got: String,
    /// What would be right.
    pub wanted: String,
}

impl PathModelError {
    fn new(field: &'static str, got: impl ToString, wanted: impl Into<String>) -> Self {
        Self { field, got: got.to_string(), wanted: wanted.into() }
    }
}

impl PathModel {
    /// Checks the model.
    ///
    /// # Errors
    /// The first invalid field.
    pub fn check(&self) -> Result<(), PathModelError> {
        let wrong =
            |field, got: &dyn ToString, wanted: String| Err(PathModelError::new(field, got.to_string(), wanted));
        match self {
            _ if !(1..=FILES_MAX).contains(&self.files) => {
                wrong("files", &self.files, format!("write a whole number from 1 to {FILES_MAX}"))
            }
            _ if !(1..=FILES_MAX).contains(&self.directory_width) => {
                wrong("directory_width", &self.directory_width, format!("write a whole number from 1 to {FILES_MAX}"))
            }
            _ if self.mean_file_bytes > MEAN_FILE_BYTES_MAX => {
                wrong("mean_file_size", &self.mean_file_bytes, "write 0 for empty files, or at most 1PiB".to_owned())
            }
            _ if !(0.0..=EXPONENT_MAX).contains(&self.exponent) => {
                wrong("exponent", &self.exponent, format!("write a number from 0 to {EXPONENT_MAX}"))
            }
            _ if !(0.0..1.0).contains(&self.locality) => {
                wrong("locality", &self.locality, "write a share from 0 to below 1, such as 0.9".to_owned())
            }
            _ => self.check_depth(),
        }
    }

    /// Whether so many files have room at this depth without wider directories.
    fn check_depth(&self) -> Result<(), PathModelError> {
        let DepthRange { min, max } = self.depth;
        if !(1..=max).contains(&min) || max > DEPTH_MAX {
            return Err(PathModelError::new("depth", self.depth, format!("write 1 to {DEPTH_MAX}, or a range")));
        }
        let needed = self.least_depth();
        match min < needed {
            true => {
                let (files, width) = (self.files, self.directory_width);
                let wanted = format!(
                    "{files} files, {width} in a directory, lie at least {needed} deep: write {needed} or more, or raise \
                     `directory_width`"
                );
                Err(PathModelError::new("depth", self.depth, wanted))
            }
            false => Ok(()),
        }
    }

    /// The least depth at which no directory is wider than it may be; beyond [`DEPTH_MAX`] where there is none.
    fn least_depth(&self) -> u32 {
        let directories = self.files.div_ceil(self.directory_width).div_ceil(self.depth.len());
        let (mut depth, mut room) = (1, 1_u64);
        while room < directories && depth <= DEPTH_MAX {
            room = room.saturating_mul(self.directory_width);
            depth += 1;
        }
        depth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_names_its_field_and_a_valid_value() {
        let archive = PathModel::default();
        archive.check().unwrap();
        let depth = |min, max| DepthRange { min, max };
        let cases = [
            (PathModel { files: 0, ..archive.clone() }, "files", "from 1"),
            (PathModel { files: FILES_MAX + 1, ..archive.clone() }, "files", "to 4294967296"),
            (PathModel { directory_width: 0, ..archive.clone() }, "directory_width", "from 1"),
            (PathModel { mean_file_bytes: 1 << 51, ..archive.clone() }, "mean_file_size", "at most 1PiB"),
            (PathModel { exponent: -0.1, ..archive.clone() }, "exponent", "from 0"),
            (PathModel { exponent: f64::NAN, ..archive.clone() }, "exponent", "from 0"),
            (PathModel { locality: 1.0, ..archive.clone() }, "locality", "below 1"),
            (PathModel { locality: f64::NAN, ..archive.clone() }, "locality", "below 1"),
            (PathModel { depth: depth(3, 10), ..archive.clone() }, "depth", "at least 4 deep"),
            (PathModel { depth: depth(0, 10), ..archive.clone() }, "depth", "1 to 128"),
            (PathModel { depth: depth(9, 8), ..archive.clone() }, "depth", "1 to 128"),
            (PathModel { depth: depth(8, 129), ..archive.clone() }, "depth", "1 to 128"),
            (PathModel { directory_width: 1, ..archive }, "depth", "raise `directory_width`"),
        ];
        for (model, field, wanted) in cases {
            let error = model.check().unwrap_err();
            assert_eq!(error.field, field, "{error}");
            assert!(error.wanted.contains(wanted), "{error}");
        }
    }

    #[test]
    fn the_least_depth_has_room_for_all_files() {
        for (files, width, depth) in [(1, 1, 1), (20, 20, 1), (21, 20, 2), (400, 20, 2), (401, 20, 3), (100, 200, 1)] {
            let of = |depth| PathModel {
                files,
                directory_width: width,
                depth: DepthRange { min: depth, max: depth },
                ..PathModel::default()
            };
            of(depth).check().unwrap();
            assert!(depth == 1 || of(depth - 1).check().is_err(), "{files} files, {width} wide");
        }
    }
}
