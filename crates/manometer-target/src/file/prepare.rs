//! Creates files: allocated first, then written completely, synced, and only then renamed to their names.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use manometer_measure::directory::remove_file;
use manometer_measure::host::mount::free_bytes;
use manometer_measure::{ByteSize, Directory};
use rustix::fs::{FallocateFlags, OFlags};
use rustix::io::Errno;

use super::buffers::Buffers;
use super::files::{Choice, choose};
use super::{DataGenerator, FileError, FileReuse, FileSet};

/// Large enough for any device to reach its full write speed, in bytes.
const WRITE_BYTES: u64 = 1 << 20;

/// The suffix of a file's name until it is complete.
const UNFINISHED: &str = ".manometer-unfinished";

/// Creates the files that are missing or may not be used as they are, and returns the paths of all. `progress` is
/// called with the bytes written and the total; if it breaks, the unfinished file is removed.
///
/// # Errors
/// A file exists that may neither be used nor replaced, the file system is full, or writing failed.
pub fn prepare(
    files: &FileSet,
    existing: FileReuse,
    seed: u64,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Vec<PathBuf>, FileError> {
    let mut wanted = Vec::new();
    for path in &files.paths {
        if choose(path, files.bytes_each, existing)? == Choice::Make {
            wanted.push(path.clone());
        }
    }
    let total = wanted.len() as u64 * files.bytes_each;
    let mut data = DataGenerator::new(seed);
    let mut made: Vec<PathBuf> = Vec::new();
    for path in wanted {
        let before = made.len() as u64 * files.bytes_each;
        match make(&path, files.bytes_each, &mut data, &mut |done| progress(before + done, total)) {
            Ok(()) => made.push(path),
            Err(error) => {
                made.iter().for_each(|path| drop(remove_file(path)));
                return Err(error);
            }
        }
    }
    Ok(made)
}

fn make(
    path: &Path,
    bytes: u64,
    data: &mut DataGenerator,
    progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<(), FileError> {
    if let Some(parent) = path.parent() {
        Directory::create(parent).map_err(FileError::system("create", parent))?;
    }
    let (directory, name) = Directory::holding(path).map_err(FileError::system("create", path))?;
    // The existing file may be removed; its space may be needed.
    match directory.remove_file(&name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(FileError::system("remove", path)(error)),
        _ => {}
    }
    let unfinished = unfinished(&name);
    let made = allocate(&directory, &unfinished, path, bytes)
        .and_then(|file| write_through(&file, path, bytes, data, progress))
        .and_then(|()| directory.rename(&unfinished, &name).map_err(FileError::system("name", path)));
    if made.is_err() {
        // The failure is returned. A file left behind is recognised by its suffix.
        let _ = directory.remove_file(&unfinished);
    }
    made
}

fn unfinished(name: &OsStr) -> OsString {
    let mut name = name.to_owned();
    name.push(UNFINISHED);
    name
}

/// Opens the unfinished file and allocates its space, so that a full file system is detected at once.
fn allocate(directory: &Directory, unfinished: &OsStr, path: &Path, bytes: u64) -> Result<File, FileError> {
    let open = |flags| directory.open_file(unfinished, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | flags);
    // What a killed preparation left is never written to.
    let _ = directory.remove_file(unfinished);
    let opened = open(OFlags::DIRECT).or_else(|error| match error.raw_os_error() {
        Some(libc::EINVAL) => {
            // Some file systems have created it.
            let _ = directory.remove_file(unfinished);
            open(OFlags::empty())
        }
        _ => Err(error),
    });
    let file = opened.map_err(FileError::system("create", path))?;
    let free = free_bytes(path);
    if free.is_some_and(|free| free < bytes) {
        return Err(no_space(path, bytes));
    }
    match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) | Err(Errno::OPNOTSUPP) => Ok(file),
        Err(Errno::NOSPC | Errno::DQUOT) => Err(no_space(path, bytes)),
        Err(error) => Err(FileError::system("allocate", path)(error)),
    }
}

fn no_space(path: &Path, bytes: u64) -> FileError {
    FileError::NoSpace { path: path.to_owned(), wanted: ByteSize(bytes), free: free_bytes(path).map(ByteSize) }
}

fn write_through(
    file: &File,
    path: &Path,
    bytes: u64,
    data: &mut DataGenerator,
    progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<(), FileError> {
    let mut buffers = Buffers::new(1, WRITE_BYTES as usize).map_err(FileError::system("make buffers for", path))?;
    let mut done = 0;
    while done < bytes {
        if progress(done).is_break() {
            return Err(FileError::Interrupted(path.to_owned()));
        }
        let length = WRITE_BYTES.min(bytes - done);
        let block = &mut buffers.slot_mut(0)[..length as usize];
        data.fill(block);
        file.write_all_at(block, done).map_err(|error| match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => no_space(path, bytes),
            _ => FileError::system("write", path)(error),
        })?;
        done += length;
    }
    file.sync_all().map_err(FileError::system("make durable", path))?;
    let _ = progress(done);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::is_own_file;
    use super::*;

    const SIZE: u64 = 3 << 20;

    fn on_disk() -> tempfile::TempDir {
        tempfile::tempdir_in("/var/tmp").unwrap()
    }

    fn one(path: PathBuf) -> FileSet {
        FileSet { paths: vec![path], bytes_each: SIZE }
    }

    fn quietly(files: &FileSet, existing: FileReuse, seed: u64) -> Result<Vec<PathBuf>, FileError> {
        prepare(files, existing, seed, &mut |_, _| ControlFlow::Continue(()))
    }

    #[test]
    fn a_made_file_is_full_of_unlike_sectors_and_known_as_ours() {
        let dir = on_disk();
        let files = one(dir.path().join("deep/er/data"));
        let mut seen = Vec::new();
        let progress = &mut |done, total| {
            seen.push((done, total));
            ControlFlow::Continue(())
        };
        assert_eq!(prepare(&files, FileReuse::Remake, 1, progress).unwrap(), files.paths);
        assert_eq!(seen.last(), Some(&(SIZE, SIZE)));
        let bytes = std::fs::read(&files.paths[0]).unwrap();
        assert_eq!(bytes.len() as u64, SIZE);
        let sectors: std::collections::HashSet<_> = bytes.chunks(4096).collect();
        assert_eq!(sectors.len() as u64, SIZE / 4096);
        assert!(is_own_file(&files.paths[0]).unwrap());
        assert_eq!(std::fs::read_dir(files.paths[0].parent().unwrap()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn our_file_is_reused_on_request_and_remade_otherwise() {
        let dir = on_disk();
        let files = one(dir.path().join("data"));
        quietly(&files, FileReuse::Remake, 1).unwrap();
        assert!(quietly(&files, FileReuse::Reuse, 2).unwrap().is_empty());
        assert!(quietly(&files, FileReuse::ReadOnly, 2).unwrap().is_empty());
        assert_eq!(quietly(&files, FileReuse::Remake, 2).unwrap().len(), 1);
        let larger = FileSet { bytes_each: 2 * SIZE, ..files };
        assert_eq!(quietly(&larger, FileReuse::Reuse, 2).unwrap().len(), 1);
    }

    #[test]
    fn foreign_files_are_never_touched_without_permission() {
        let dir = on_disk();
        let files = one(dir.path().join("precious"));
        std::fs::write(&files.paths[0], vec![7; SIZE as usize]).unwrap();
        for existing in [FileReuse::Remake, FileReuse::Reuse] {
            assert!(matches!(quietly(&files, existing, 1), Err(FileError::ForeignFile(_))));
        }
        assert!(quietly(&files, FileReuse::ReadOnly, 1).unwrap().is_empty());
        let larger = FileSet { bytes_each: 2 * SIZE, ..files.clone() };
        assert!(matches!(quietly(&larger, FileReuse::ReadOnly, 1), Err(FileError::TooSmall { .. })));
        assert!(std::fs::read(&files.paths[0]).unwrap().iter().all(|byte| *byte == 7));
        assert_eq!(quietly(&larger, FileReuse::Overwrite, 1).unwrap().len(), 1);
    }

    #[test]
    fn a_file_with_holes_is_not_read() {
        let dir = on_disk();
        let files = one(dir.path().join("hollow"));
        let file = File::create(&files.paths[0]).unwrap();
        file.write_all_at(&[1; 8192], 0).unwrap();
        file.set_len(SIZE).unwrap();
        assert!(matches!(quietly(&files, FileReuse::ReadOnly, 1), Err(FileError::SparseFile { offset: 8192, .. })));
    }

    #[test]
    fn directories_and_devices_are_refused() {
        let dir = on_disk();
        for path in [dir.path().to_owned(), PathBuf::from("/dev/null")] {
            assert!(matches!(quietly(&one(path), FileReuse::Overwrite, 1), Err(FileError::NotRegularFile(_))));
        }
    }

    #[test]
    fn no_space_is_known_before_anything_is_written() {
        let dir = on_disk();
        let files = FileSet { bytes_each: 1 << 60, ..one(dir.path().join("huge")) };
        let error = quietly(&files, FileReuse::Remake, 1).unwrap_err();
        assert!(matches!(error, FileError::NoSpace { free: Some(_), .. }), "{error}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn stopping_leaves_nothing_behind() {
        let dir = on_disk();
        let files = FileSet { paths: vec![dir.path().join("a"), dir.path().join("b")], bytes_each: SIZE };
        let stop = &mut |done, _| if done > SIZE { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        assert!(matches!(prepare(&files, FileReuse::Remake, 1, stop), Err(FileError::Interrupted(_))));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
