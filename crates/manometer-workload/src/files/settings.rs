//! The parameters of a `files` workload.

use manometer_measure::{ByteSize, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a `files` workload does to its files, after Filebench's personality of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Personality {
    /// A file server: whole files are written, appended to, read, deleted and looked up.
    Fileserver,
    /// A mail server: many small files in one directory, each append made durable.
    Varmail,
    /// A database: small reads and writes at random places of a few large files, and a log.
    Oltp,
}

impl Personality {
    /// Its name in an experiment file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fileserver => "fileserver",
            Self::Varmail => "varmail",
            Self::Oltp => "oltp",
        }
    }
}

/// Files that are created, written, appended to, read, made durable, looked up and deleted (the seed's macro-workloads,
/// section 6.3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FilesSettings {
    /// What is done to the files; it brings its own numbers for what is unsaid.
    pub personality: Personality,
    /// How many files there are at most; four fifths of them at the start, but for `oltp`, which has them all. Unsaid,
    /// the personality's own number, in an experiment at most as many as fill half of the space at hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Bytes of a file in the mean; `oltp`'s files have exactly as many. Unsaid, the personality's own; of `oltp` in an
    /// experiment at most so many that all files fill half of the space at hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_file_size: Option<ByteSize>,
    /// Bytes of an append in the mean; not for `oltp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_append_size: Option<ByteSize>,
    /// Files or directories in a directory; 0 for all files in one. Not for `oltp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory_width: Option<u64>,
    /// Threads, each doing one operation at a time, 1 to 512; of `oltp` those that read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 512))]
    pub threads: Option<u32>,
    /// Whether `oltp` goes past the page cache (`O_DIRECT`); true unless said, and for `oltp` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direct: Option<bool>,
    /// The most operations per second, of `oltp` the most reads; unlimited unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

impl FilesSettings {
    /// The personality with its own numbers.
    pub fn of(personality: Personality) -> Self {
        Self {
            personality,
            files: None,
            mean_file_size: None,
            mean_append_size: None,
            directory_width: None,
            threads: None,
            direct: None,
            rate: None,
        }
    }

    /// The setting that scales the data, the size of `oltp`'s few files, the number of all others.
    pub fn scaling(&self) -> &'static str {
        if self.personality == Personality::Oltp { "mean_file_size" } else { "files" }
    }

    /// Whether nobody has said how large the data are, so that they scale to the disk.
    pub fn scales_to_disk(&self) -> bool {
        match self.personality {
            Personality::Oltp => self.mean_file_size.is_none(),
            Personality::Fileserver | Personality::Varmail => self.files.is_none(),
        }
    }
}
