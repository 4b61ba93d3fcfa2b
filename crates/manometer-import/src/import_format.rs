//! A format that can be imported.

use std::path::{Path, PathBuf};

use crate::{ImportError, ImportedRun};

/// A format that can be imported.
#[derive(Debug, Clone, Copy)]
pub struct ImportFormat {
    /// Its name on the command line.
    pub name: &'static str,
    /// Which files it reads.
    pub about: &'static str,
    /// Reads files: one result per run in them.
    pub(crate) read: fn(&[PathBuf]) -> Result<Vec<ImportedRun>, ImportError>,
}

impl ImportFormat {
    /// Reads `files`: one result per run in them.
    ///
    /// # Errors
    /// A file cannot be read, or does not have this format.
    pub fn read(&self, files: &[PathBuf]) -> Result<Vec<ImportedRun>, ImportError> {
        (self.read)(files)
    }
}

/// Reads `files` of a format with one run in each.
pub(crate) fn read_each(
    files: &[PathBuf],
    read: impl Fn(&Path) -> Result<ImportedRun, ImportError>,
) -> Result<Vec<ImportedRun>, ImportError> {
    files.iter().map(|path| read(path)).collect()
}
