//! Where a run may write: the device directory and the output directory, checked before anything is written.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use manometer_measure::Directory;
use manometer_target::engine::directory::DatabaseManifest;

use crate::definition::Experiment;

/// What the names of Manometer's own files in a device directory begin with.
const OWN_FILES: &str = ".manometer";

/// A directory that a run does not write to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// It is another user's, and this is root.
    #[error(
        "{} belongs to user {owner}, who can lead what root writes there elsewhere: run as that user, choose a directory \
         of root's, or set `device.foreign_owner = true` if that user is trusted", path.display()
    )]
    Foreign {
        /// The directory or file.
        path: PathBuf,
        /// Its owner's id.
        owner: u32,
    },
    /// It cannot hold data.
    #[error("{} is in {kind}, a file system of the kernel that holds no data: choose a directory on the device", path.display())]
    NoStorage {
        /// The device directory.
        path: PathBuf,
        /// The file system's kind.
        kind: &'static str,
    },
    /// A link is where the run writes.
    #[error("{} is a symbolic link, and a run writes nowhere but in its device directory: remove the link", path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// The output directory is among the data.
    #[error("--out {} is inside {}, which holds {what}: choose another directory", out.display(), folder.display())]
    OutInside {
        /// The output directory.
        out: PathBuf,
        /// The directory around it.
        folder: PathBuf,
        /// What that holds.
        what: &'static str,
    },
    /// The device directory cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// File systems of the kernel's own, by their numbers in `statfs(2)`.
const NO_STORAGE: [(u32, &str); 6] = [
    (0x9fa0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x0027_e0eb, "a file system of control groups"),
    (0x6367_7270, "a file system of control groups"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
];

/// Checks the device directory of `experiment`; one that does not exist yet is good.
///
/// # Errors
/// Root is asked to write to another user's directory, or a link is where the run writes.
pub(crate) fn check_device_directory(experiment: &Experiment) -> Result<(), PlaceError> {
    let directory = &experiment.directory;
    let failed = |source| PlaceError::Io { path: directory.clone(), source };
    let existing = directory.ancestors().find(|path| path.exists()).unwrap_or(directory);
    if let Ok(facts) = rustix::fs::statfs(existing) {
        let magic = facts.f_type as u32;
        if let Some((_, kind)) = NO_STORAGE.into_iter().find(|(number, _)| *number == magic) {
            return Err(PlaceError::NoStorage { path: directory.clone(), kind });
        }
    }
    match Directory::open(directory) {
        Ok(held) => check_entries(experiment, &held),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// Checks the owners of the device directory of `experiment`, held open, and of what the run writes to there.
///
/// # Errors
/// As those of [`check_device_directory`].
pub(crate) fn check_entries(experiment: &Experiment, directory: &Directory) -> Result<(), PlaceError> {
    let failed = |source| PlaceError::Io { path: directory.path().to_owned(), source };
    let is_written = |name: &str| name.starts_with(OWN_FILES) || experiment.workload(name).is_some();
    let owner = directory.owner().map_err(failed)?;
    check_owner(experiment, directory.path(), owner)?;
    for (name, kind) in directory.entries().map_err(failed)? {
        if !name.to_str().is_some_and(is_written) {
            continue;
        }
        let path = directory.path().join(&name);
        if kind.is_symlink() {
            return Err(PlaceError::Link { path });
        }
        check_owner(experiment, &path, directory.facts(&name).map_err(failed)?.st_uid)?;
    }
    Ok(())
}

/// Refuses what belongs to another user, if this is root.
fn check_owner(experiment: &Experiment, path: &Path, owner: u32) -> Result<(), PlaceError> {
    if rustix::process::geteuid().is_root() && owner != 0 && !experiment.foreign_owner {
        return Err(PlaceError::Foreign { path: path.to_owned(), owner });
    }
    Ok(())
}

/// Checks that `out` is not inside the data of `experiment`, or in a database of another.
///
/// # Errors
/// It is.
pub fn check_out(experiment: &Experiment, out: &Path) -> Result<(), PlaceError> {
    if let Ok(facts) = fs::metadata(out) {
        check_owner(experiment, out, facts.uid())?;
    }
    let Ok(out) = std::path::absolute(out) else { return Ok(()) };
    let existing = out.ancestors().find_map(|path| Some((path, path.canonicalize().ok()?)));
    let resolved = existing.map_or_else(
        || out.clone(),
        |(path, real)| match out.strip_prefix(path) {
            Ok(rest) => real.join(rest),
            Err(_) => real,
        },
    );
    let directory = experiment.directory.canonicalize().unwrap_or_else(|_| experiment.directory.clone());
    let inside = |folder: &Path, what| Err(PlaceError::OutInside { out: out.clone(), folder: folder.to_owned(), what });
    for folder in resolved.ancestors() {
        let name = folder.file_name().and_then(|name| name.to_str()).filter(|_| folder.parent() == Some(&directory));
        if name.is_some_and(|name| experiment.workload(name).is_some()) {
            return inside(folder, "a workload's data");
        }
        if name.is_some_and(|name| name.starts_with(OWN_FILES)) {
            return inside(folder, "Manometer's own data");
        }
        if DatabaseManifest::read(folder).is_some() {
            return inside(folder, "a database");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::lock::DirectoryLock;

    #[test]
    fn a_directory_that_takes_the_place_of_the_one_that_was_checked_is_checked_too() {
        let dir = tempfile::tempdir().unwrap();
        let [data, other, file] = ["data", "other", "e.toml"].map(|name| dir.path().join(name));
        fs::create_dir(&data).unwrap();
        fs::create_dir(&other).unwrap();
        symlink(dir.path(), other.join("primary")).unwrap();
        let exchange = || {
            let (cwd, flags) = (rustix::fs::CWD, rustix::fs::RenameFlags::EXCHANGE);
            rustix::fs::renameat_with(cwd, &data, cwd, &other, flags).unwrap();
        };
        let text = format!(
            "name = \"a test\"\n[device]\ndirectory = {data:?}\n[primary]\nrecords = 10\n[plan]\nphase = \"1s\"\n"
        );
        fs::write(&file, text).unwrap();
        let experiment = crate::file::load(&file, &[]).unwrap();
        check_device_directory(&experiment).unwrap();
        let held = DirectoryLock::take(&data).unwrap();
        exchange();
        check_entries(&experiment, held.directory()).unwrap();
        assert!(matches!(check_device_directory(&experiment), Err(PlaceError::Link { .. })));
        drop(held);
        exchange();
        check_device_directory(&experiment).unwrap();
        exchange();
        let held = DirectoryLock::take(&data).unwrap();
        let refused = check_entries(&experiment, held.directory());
        assert!(matches!(&refused, Err(PlaceError::Link { path }) if path.ends_with("primary")), "{refused:?}");
    }
}
