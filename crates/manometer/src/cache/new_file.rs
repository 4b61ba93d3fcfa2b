//! A file that a verb writes in addition to its output.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use manometer_cache::CacheError;

/// A new file; it is removed on drop unless it was written.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    file: File,
    is_kept: bool,
}

impl NewFile {
    /// Creates the file before the work whose result it will hold.
    pub fn create(path: &Path) -> Result<Self, CacheError> {
        let wrong = |error| CacheError::Invalid(format!("{} cannot be created: {error}", path.display()));
        let file = File::create_new(path).map_err(wrong)?;
        Ok(Self { path: path.to_owned(), file, is_kept: false })
    }

    /// Creates the file of a page, which `flag` names.
    pub fn create_page(flag: &str, path: &Path) -> Result<Self, CacheError> {
        if path.extension().is_some_and(|extension| extension == "html") {
            return Self::create(path);
        }
        let text = format!("{flag} {}: a chart is an HTML page: name a file that ends in .html", path.display());
        Err(CacheError::Invalid(text))
    }

    /// Writes the content.
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
