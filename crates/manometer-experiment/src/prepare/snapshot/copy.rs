//! Copies a folder so that the copy shares with the original what it can.
//!
//! A file is cloned where the file system can (reflink), linked where the engine never changes a file once written,
//! and copied otherwise. Every file and folder of the copy is durable at the end.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use rustix::fs::ioctl_ficlone;
use serde::{Deserialize, Serialize};

use super::SnapshotError;

/// What is copied at once, between two looks whether to go on.
const CHUNK_BYTES: usize = 4 << 20;

/// How a file came into the copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It shares its blocks, until one of the two is written.
    Reflink,
    /// It is the same file under another name.
    Link,
    /// It has blocks of its own.
    Copy,
}

/// A file of the copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copied {
    /// Its path in the folder.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// How it came there.
    pub how: How,
}

/// Which files to take, which of them never change, and whether to go on.
pub(super) struct Rules<'a> {
    /// Whether the file or folder of this name, right in the folder, is taken.
    pub takes: &'a dyn Fn(&str) -> bool,
    /// Whether a file of this name never changes once it is written.
    pub immutable: &'a dyn Fn(&str) -> bool,
    /// Asked between chunks.
    pub look: &'a mut dyn FnMut() -> Result<(), SnapshotError>,
}

/// Copies the folder `from` to `to`, which is not there yet; the files, in the order of their paths.
pub(super) fn copy_folder(from: &Path, to: &Path, rules: &mut Rules<'_>) -> Result<Vec<Copied>, SnapshotError> {
    let mut copied = Vec::new();
    folder(from, to, "", rules, &mut copied)?;
    copied.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(copied)
}

fn folder(
    from: &Path,
    to: &Path,
    below: &str,
    rules: &mut Rules<'_>,
    copied: &mut Vec<Copied>,
) -> Result<(), SnapshotError> {
    fs::create_dir(to).map_err(SnapshotError::at(to))?;
    for entry in fs::read_dir(from).map_err(SnapshotError::at(from))? {
        let entry = entry.map_err(SnapshotError::at(from))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if below.is_empty() && !(rules.takes)(&name) {
            continue;
        }
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        let kind = entry.file_type().map_err(SnapshotError::at(&source))?;
        if kind.is_dir() {
            folder(&source, &target, &path, rules, copied)?;
        } else if kind.is_file() {
            (rules.look)()?;
            let immutable = (rules.immutable)(&name);
            let how = file(&source, &target, immutable, rules.look)?;
            let bytes = fs::metadata(&target).map_err(SnapshotError::at(&target))?.len();
            copied.push(Copied { path, bytes, how });
        } else {
            return Err(SnapshotError::NoFile(source));
        }
    }
    File::open(to).and_then(|folder| folder.sync_all()).map_err(SnapshotError::at(to))
}

fn file(
    from: &Path,
    to: &Path,
    immutable: bool,
    look: &mut dyn FnMut() -> Result<(), SnapshotError>,
) -> Result<How, SnapshotError> {
    let mut source = File::open(from).map_err(SnapshotError::at(from))?;
    let mut target = File::create_new(to).map_err(SnapshotError::at(to))?;
    if ioctl_ficlone(&target, &source).is_ok() {
        target.sync_all().map_err(SnapshotError::at(to))?;
        return Ok(How::Reflink);
    }
    if immutable {
        drop(target);
        fs::remove_file(to).map_err(SnapshotError::at(to))?;
        // What is linked must be durable under its first name too.
        source.sync_all().map_err(SnapshotError::at(from))?;
        if fs::hard_link(from, to).is_ok() {
            return Ok(How::Link);
        }
        target = File::create_new(to).map_err(SnapshotError::at(to))?;
    }
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut length = 0;
    loop {
        look()?;
        let read = source.read(&mut chunk).map_err(SnapshotError::at(from))?;
        if read == 0 {
            break;
        }
        length += read as u64;
        put(&mut target, &chunk[..read]).map_err(SnapshotError::at(to))?;
    }
    target.set_len(length).and_then(|()| target.sync_all()).map_err(SnapshotError::at(to))?;
    Ok(How::Copy)
}

/// Writes a chunk; one of noughts stays a hole, as it may have been one.
fn put(target: &mut File, chunk: &[u8]) -> io::Result<()> {
    if chunk.iter().all(|byte| *byte == 0) {
        return target.seek(SeekFrom::Current(chunk.len() as i64)).map(drop);
    }
    target.write_all(chunk)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    fn copy(from: &Path, to: &Path) -> Vec<Copied> {
        let rules = &mut Rules {
            takes: &|name| name != "lock",
            immutable: &|name| name.ends_with(".sst"),
            look: &mut || Ok(()),
        };
        copy_folder(from, to, rules).unwrap()
    }

    #[test]
    fn what_never_changes_is_shared_and_the_rest_is_its_own() {
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
        if copied[0].how == How::Link {
            let inode = |path: &Path| fs::metadata(path.join("db/1.sst")).unwrap().ino();
            assert_eq!(inode(&from), inode(&to));
        }
        assert_ne!(copied[1].how, How::Link);
        fs::write(from.join("db/CURRENT"), "MANIFEST-2").unwrap();
        assert_eq!(fs::read_to_string(to.join("db/CURRENT")).unwrap(), "MANIFEST-1");
    }

    #[test]
    fn holes_stay_holes_and_lengths_stay() {
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
    fn a_link_in_a_database_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("from");
        fs::create_dir(&from).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", from.join("db")).unwrap();
        let rules = &mut Rules { takes: &|_| true, immutable: &|_| false, look: &mut || Ok(()) };
        let error = copy_folder(&from, &dir.path().join("to"), rules).unwrap_err();
        assert!(matches!(error, SnapshotError::NoFile(_)), "{error}");
    }
}
