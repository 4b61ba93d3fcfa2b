//! The parameters of a `paths` workload.

use manometer_measure::{ByteSize, Rate};
use manometer_trace::synthesis::paths::{DepthRange, PathModel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A tree of files that is looked up, opened, read and listed by path. The defaults have the character of the archive of
/// Song 2018, section 4.2.2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PathsSettings {
    /// Files of the tree. Default: 100,000, in an experiment at most as many as fill half of the free space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Components of a file's path below the tree's root, the file's name included: a number such as 8, or a range such
    /// as `8-10`.
    pub depth: DepthRange,
    /// Files per directory, and directories per directory.
    #[schemars(range(min = 1))]
    pub directory_width: u64,
    /// Mean bytes of a file; 0 for empty files.
    pub mean_file_size: ByteSize,
    /// Threads, each with one operation at a time, 1 to 512.
    #[schemars(range(min = 1, max = 512))]
    pub threads: u32,
    /// The proportion of look-ups of a file's attributes (`stat`). Proportions are divided by their sum.
    #[schemars(range(min = 0.0))]
    pub stat_proportion: f64,
    /// The proportion of opening a file.
    #[schemars(range(min = 0.0))]
    pub open_proportion: f64,
    /// The proportion of opening a file and reading all of it.
    #[schemars(range(min = 0.0))]
    pub read_proportion: f64,
    /// The proportion of opening a directory and reading the names of its entries.
    #[schemars(range(min = 0.0))]
    pub list_proportion: f64,
    /// How steeply the popularity of directories falls: the exponent of a Zipf distribution; 0 for equally popular ones.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub exponent: f64,
    /// The share of a thread's operations that stay in the directory of the one before and go to its next file, 0 to
    /// below 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub locality: f64,
    /// The most operations per second, of all threads together. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// A timetable of changes that starts with the first `go`: `"10m: threads = 8; 20m: locality = 0"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
}

impl PathsSettings {
    /// Whether the size of the data is not set, so that it scales to the disk.
    pub fn scales_to_disk(&self) -> bool {
        self.files.is_none()
    }
}

impl Default for PathsSettings {
    fn default() -> Self {
        let model = PathModel::default();
        Self {
            files: None,
            depth: model.depth,
            directory_width: model.directory_width,
            mean_file_size: ByteSize(model.mean_file_bytes),
            threads: 1,
            stat_proportion: 0.5,
            open_proportion: 0.2,
            read_proportion: 0.2,
            list_proportion: 0.1,
            exponent: model.exponent,
            locality: model.locality,
            rate: None,
            script: None,
        }
    }
}
