//! The folder that results are written to.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::{RecordingError, io_error};

/// An empty folder for results. On drop it is removed if it was created for them and nothing was written to it, and so are the
/// folders above it that were created.
#[derive(Debug)]
#[must_use]
pub struct OutDirectory {
    /// What was created, the innermost first.
    created: Vec<PathBuf>,
}

impl OutDirectory {
    /// Creates the folder `path`, or checks that it is empty.
    ///
    /// # Errors
    /// The folder is not empty, or cannot be created.
    pub fn create(path: &Path) -> Result<Self, RecordingError> {
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let missing = path.ancestors().take_while(is_missing).map(Path::to_owned).collect();
        let directory = Self { created: missing };
        fs::create_dir_all(path).map_err(io_error(path))?;
        match fs::read_dir(path).map_err(io_error(path))?.next() {
            Some(_) => Err(RecordingError::NotEmpty { path: path.to_owned() }),
            None => Ok(directory),
        }
    }
}

impl Drop for OutDirectory {
    fn drop(&mut self) {
        // A folder that holds something stays.
        for folder in &self.created {
            let _ = fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
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
