//! The array that each run builds below its device directory.

use std::path::{Path, PathBuf};

use manometer_cache::tier::Arrangement;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Experiment;

/// The arrangement of disks below the device directory: built before each run and taken apart after it, with all data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ArraySettings {
    /// File of the arrangement, as `cache tier` reads it, relative to this file.
    pub arrangement: PathBuf,
    /// Devices or files of the origin, relative to the current directory. An arrangement takes the first of them, as many
    /// as it needs. A file that does not exist is created for the run.
    pub origin: Vec<PathBuf>,
    /// Devices or files of the cache, taken as those of the origin.
    #[serde(default)]
    pub cache: Vec<PathBuf>,
    /// The file system.
    #[serde(default)]
    pub file_system: FileSystem,
    /// Take devices and files that hold data: these are lost.
    #[serde(default)]
    pub erase: bool,
}

/// A file system that is made on an array.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileSystem {
    /// ext4.
    #[default]
    Ext4,
    /// XFS, which needs 300 MiB.
    Xfs,
}

/// The devices that an arrangement takes: those of the origin and those of the cache.
pub type TakenDevices<'a> = (&'a [PathBuf], &'a [PathBuf]);

impl ArraySettings {
    /// Reads the arrangement.
    ///
    /// # Errors
    /// The file, what is wrong with it, and what would be right.
    pub fn load(&self) -> Result<Arrangement, String> {
        Arrangement::load(&self.arrangement).map_err(|error| error.to_string())
    }

    /// The devices that `arrangement` takes.
    ///
    /// # Errors
    /// It needs more than are listed.
    pub fn devices(&self, arrangement: &Arrangement) -> Result<TakenDevices<'_>, String> {
        let cache = arrangement.cache.as_ref().map_or(0, |cache| cache.count);
        let levels = [("origin", &self.origin, arrangement.origin.count), ("cache", &self.cache, cache)];
        let [origin, cache] = levels.map(|(key, listed, count)| {
            let taken = usize::try_from(count).ok().and_then(|count| listed.get(..count));
            taken.ok_or_else(|| {
                format!("`{}` needs {count} devices in `array.{key}`, which lists {}", arrangement.name, listed.len())
            })
        });
        Ok((origin?, cache?))
    }

    /// The bytes that it holds.
    pub(crate) fn size_bytes(&self) -> Option<u64> {
        let arrangement = self.load().ok()?;
        Some(arrangement.origin.size.0 / arrangement.scale)
    }
}

impl Experiment {
    /// What holds the data on this host: the device directory, or the devices and files of the array below it.
    pub fn storage(&self) -> Vec<&Path> {
        match &self.array {
            Some(array) => array.origin.iter().chain(&array.cache).map(PathBuf::as_path).collect(),
            None => vec![self.directory.as_path()],
        }
    }
}
