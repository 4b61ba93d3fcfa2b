//! Copies a folder, sharing blocks with the original where possible.
//!
//! A file is cloned where the file system supports it (reflink), hard-linked where the engine never changes a written
//! file, and copied otherwise. All files and folders of the copy are durable at the end.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;

use manometer_measure::Directory;
use rustix::fs::ioctl_ficlone;
use serde::{Deserialize, Serialize};

use crate::prepare::error::PrepareError;
use crate::prepare::snapshot_error::SnapshotError;

/// The bytes copied between two checks whether to stop.
const CHUNK_BYTES: usize = 4 << 20;

/// How a file was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyMethod {
    /// Cloned: the blocks are shared until one of the files is written.
    Reflink,
    /// Hard-linked.
    Link,
    /// Copied, with separate blocks.
    Copy,
}

/// A file of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopiedFile {
    /// Its path in the folder.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// How it was copied.
    #[serde(rename = "how")]
    pub method: CopyMethod,
}

/// What is copied and how.
pub(super) struct CopyRules<'a> {
    /// Whether the file or folder of this name, at the top of the folder, is copied.
    pub includes: &'a dyn Fn(&str) -> bool,
    /// Whether a file of this name is never changed once written.
    pub is_immutable: &'a dyn Fn(&str) -> bool,
    /// Called between chunks; an error stops the copy.
    pub check_stop: &'a mut dyn FnMut() -> Result<(), PrepareError>,
}

/// Copies the folder `from` to the empty folder `to`. Returns the files, sorted by path.
pub(super) fn copy_folder(
    from: &Directory,
    to: &Directory,
    rules: &mut CopyRules<'_>,
) -> Result<Vec<CopiedFile>, PrepareError> {
    let mut copied = Vec::new();
    copy_below(from, to, "", rules, &mut copied)?;
    copied.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(copied)
}

fn copy_below(
    from: &Directory,
    to: &Directory,
    below: &str,
    rules: &mut CopyRules<'_>,
    copied: &mut Vec<CopiedFile>,
) -> Result<(), PrepareError> {
    for (file_name, kind) in from.entries().map_err(SnapshotError::at(from.path()))? {
        let name = file_name.to_string_lossy().into_owned();
        if below.is_empty() && !(rules.includes)(&name) {
            continue;
        }
        let (source, target) = (from.path().join(&file_name), to.path().join(&file_name));
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if kind.is_dir() {
            let source = from.directory(&file_name).map_err(SnapshotError::at(&source))?;
            let target = to.create_directory(&file_name).map_err(SnapshotError::at(&target))?;
            copy_below(&source, &target, &path, rules, copied)?;
        } else if kind.is_file() {
            (rules.check_stop)()?;
            let is_immutable = (rules.is_immutable)(&name);
            let method = copy_file(from, to, &file_name, is_immutable, rules.check_stop)?;
            let bytes = to.facts(&file_name).map_err(SnapshotError::at(&target))?.st_size.cast_unsigned();
            copied.push(CopiedFile { path, bytes, method });
        } else {
            return Err(SnapshotError::UnsupportedFile(source).into());
        }
    }
    Ok(to.sync().map_err(SnapshotError::at(to.path()))?)
}

fn copy_file(
    from: &Directory,
    to: &Directory,
    name: &OsStr,
    is_immutable: bool,
    check_stop: &mut dyn FnMut() -> Result<(), PrepareError>,
) -> Result<CopyMethod, PrepareError> {
    let (from_path, to_path): (PathBuf, PathBuf) = (from.path().join(name), to.path().join(name));
    let mut source = from.read(name).map_err(SnapshotError::at(&from_path))?;
    let mut target = to.create_new(name).map_err(SnapshotError::at(&to_path))?;
    if ioctl_ficlone(&target, &source).is_ok() {
        target.sync_all().map_err(SnapshotError::at(&to_path))?;
        return Ok(CopyMethod::Reflink);
    }
    if is_immutable {
        drop(target);
        to.remove_file(name).map_err(SnapshotError::at(&to_path))?;
        // The contents must be durable before the link is.
        source.sync_all().map_err(SnapshotError::at(&from_path))?;
        if from.hard_link(name, to, name).is_ok() {
            return Ok(CopyMethod::Link);
        }
        target = to.create_new(name).map_err(SnapshotError::at(&to_path))?;
    }
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut length = 0;
    loop {
        check_stop()?;
        let read = source.read(&mut chunk).map_err(SnapshotError::at(&from_path))?;
        if read == 0 {
            break;
        }
        length += read as u64;
        write_chunk(&mut target, &chunk[..read]).map_err(SnapshotError::at(&to_path))?;
    }
    target.set_len(length).and_then(|()| target.sync_all()).map_err(SnapshotError::at(&to_path))?;
    Ok(CopyMethod::Copy)
}

/// Writes a chunk. A chunk of zeros becomes a hole.
fn write_chunk(target: &mut File, chunk: &[u8]) -> io::Result<()> {
    if chunk.iter().all(|byte| *byte == 0) {
        return target.seek(SeekFrom::Current(chunk.len() as i64)).map(drop);
    }
    target.write_all(chunk)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use super::*;

    fn copy(from: &Path, to: &Path) -> Vec<CopiedFile> {
        let rules = &mut CopyRules {
            includes: &|name| name != "lock",
            is_immutable: &|name| name.ends_with(".sst"),
            check_stop: &mut || Ok(()),
        };
        copy_folder(&Directory::open(from).unwrap(), &Directory::create(to).unwrap(), rules).unwrap()
    }

    #[test]
    fn immutable_files_are_shared_and_others_are_copied() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("db")).unwrap();
        fs::write(from.join("db/1.sst"), "table").unwrap();
        fs::write(from.join("db/CURRENT"), "MANIFEST-1").unwrap();
        fs::write(from.join("lock"), "").unwrap();
        let copied = copy(&from, &to);
        let paths: Vec<&str> = copied.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["db/1.sst", "db/CURRENT"]);
        assert_eq!(fs::read_to_string(to.join("db/CURRENT")).unwrap(), "MANIFEST-1");
        if copied[0].method == CopyMethod::Link {
            let inode = |path: &Path| fs::metadata(path.join("db/1.sst")).unwrap().ino();
            assert_eq!(inode(&from), inode(&to));
        }
        assert_ne!(copied[1].method, CopyMethod::Link);
        fs::write(from.join("db/CURRENT"), "MANIFEST-2").unwrap();
        assert_eq!(fs::read_to_string(to.join("db/CURRENT")).unwrap(), "MANIFEST-1");
    }

    #[test]
    fn holes_and_lengths_are_preserved() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir(&from).unwrap();
        let file = File::create(from.join("sparse")).unwrap();
        file.set_len(3 * CHUNK_BYTES as u64 + 5).unwrap();
        copy(&from, &to);
        let metadata = fs::metadata(to.join("sparse")).unwrap();
        assert_eq!(metadata.len(), 3 * CHUNK_BYTES as u64 + 5);
        assert!(metadata.blocks() * 512 < CHUNK_BYTES as u64);
    }

    #[test]
    fn a_symbolic_link_in_a_database_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("from");
        fs::create_dir(&from).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", from.join("db")).unwrap();
        let rules = &mut CopyRules { includes: &|_| true, is_immutable: &|_| false, check_stop: &mut || Ok(()) };
        let to = Directory::create(&dir.path().join("to")).unwrap();
        let error = copy_folder(&Directory::open(&from).unwrap(), &to, rules).unwrap_err();
        assert!(matches!(error, PrepareError::Snapshot(SnapshotError::UnsupportedFile(_))), "{error}");
    }
}
