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

/// Files that are created, written, appended to, read, made durable, looked up and deleted (dos Santos 2015,
/// section 6.3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FilesSettings {
    /// The kind of server; it sets the defaults of the other settings.
    pub personality: Personality,
    /// The number of file names; four fifths of the files exist at the start, all of `oltp`'s. Default: the personality's
    /// number, in an experiment at most as many as fill half of the free space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Mean bytes of a file; `oltp`'s files have exactly this size. Default: the personality's size; for `oltp` in an
    /// experiment at most the size at which all files fill half of the free space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_file_size: Option<ByteSize>,
    /// Mean bytes of an append; not for `oltp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_append_size: Option<ByteSize>,
    /// Files or directories per directory; 0 puts all files in one. Not for `oltp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory_width: Option<u64>,
    /// Threads, each with one operation at a time, 1 to 512; for `oltp` the readers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 512))]
    pub threads: Option<u32>,
    /// Whether `oltp` bypasses the page cache (`O_DIRECT`); default true; for `oltp` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direct: Option<bool>,
    /// The most operations per second, for `oltp` the most reads; default: no limit.
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

    /// The setting that scales the data: the file size of `oltp`, the number of files of the others.
    pub fn scaling(&self) -> &'static str {
        if self.personality == Personality::Oltp { "mean_file_size" } else { "files" }
    }

    /// Whether the size of the data is not set, so that it scales to the disk.
    pub fn scales_to_disk(&self) -> bool {
        match self.personality {
            Personality::Oltp => self.mean_file_size.is_none(),
            Personality::Fileserver | Personality::Varmail => self.files.is_none(),
        }
    }
}
