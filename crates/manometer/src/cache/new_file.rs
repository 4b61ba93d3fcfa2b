//! A file that a verb makes beside what it prints.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use manometer_cache::CacheError;

/// A file that was not there before; it does not stay unless it is kept.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    file: File,
    is_kept: bool,
}

impl NewFile {
    /// Makes it, before work begins whose result it is to hold.
    pub fn create(path: &Path) -> Result<Self, CacheError> {
        let wrong = |error| CacheError::Invalid(format!("{} cannot be made: {error}", path.display()));
        let file = File::create_new(path).map_err(wrong)?;
        Ok(Self { path: path.to_owned(), file, is_kept: false })
    }

    /// Fills it.
    pub fn keep(mut self, content: &[u8]) -> anyhow::Result<()> {
        use anyhow::Context as _;
        let written = self.file.write_all(content).and_then(|()| self.file.sync_all());
        written.with_context(|| format!("{} cannot be written", self.path.display()))?;
        self.is_kept = true;
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
