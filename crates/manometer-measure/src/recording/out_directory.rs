//! The folder that results are written to.

use std::path::{Path, PathBuf};

use super::error::{RecordingError, io_error};
use crate::directory::{Directory, remove_directory};

/// An empty folder for results. On drop it is removed if it was created for them and nothing was written to it, and so are the
/// folders above it that were created.
#[derive(Debug)]
#[must_use]
pub struct OutDirectory {
    /// What was created, the innermost first.
    created: Vec<PathBuf>,
    directory: Directory,
}

impl OutDirectory {
    /// Creates the folder `path`, or checks that it is empty.
    ///
    /// # Errors
    /// The folder is not empty, or cannot be created.
    pub fn create(path: &Path) -> Result<Self, RecordingError> {
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let missing = path.ancestors().take_while(is_missing).map(Path::to_owned).collect();
        let out = Self { created: missing, directory: Directory::create(path).map_err(io_error(path))? };
        out.check_empty()?;
        Ok(out)
    }

    /// Creates the folder `name` of `parent`, or checks that it is empty.
    ///
    /// # Errors
    /// The folder is not empty, or cannot be created.
    pub fn create_in(parent: &Directory, name: &Path) -> Result<Self, RecordingError> {
        let path = parent.path().join(name);
        let created = if parent.holds(name) { Vec::new() } else { vec![path.clone()] };
        let out = Self { created, directory: parent.ensure_directory(name).map_err(io_error(&path))? };
        out.check_empty()?;
        Ok(out)
    }

    /// The folder.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    fn check_empty(&self) -> Result<(), RecordingError> {
        let path = self.directory.path();
        match self.directory.entries().map_err(io_error(path))?.is_empty() {
            true => Ok(()),
            false => Err(RecordingError::NotEmpty { path: path.to_owned() }),
        }
    }
}

impl Drop for OutDirectory {
    fn drop(&mut self) {
        // A folder that holds something stays.
        for folder in &self.created {
            let _ = remove_directory(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_what_was_created_and_stayed_empty_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let (own, new) = (dir.path().join("own"), dir.path().join("new/er"));
        fs::create_dir(&own).unwrap();
        for path in [&own, &new] {
            let directory = OutDirectory::create(path).unwrap();
            assert!(path.is_dir());
            drop(directory);
        }
        assert!(own.is_dir() && !dir.path().join("new").exists());
        let directory = OutDirectory::create(&new).unwrap();
        fs::write(new.join("result"), "").unwrap();
        drop(directory);
        assert!(new.join("result").exists());
        assert!(matches!(OutDirectory::create(&new), Err(RecordingError::NotEmpty { .. })));
        assert!(new.join("result").exists());
    }
}
