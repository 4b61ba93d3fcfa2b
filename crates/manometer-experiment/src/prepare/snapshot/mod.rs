//! Snapshots of prepared databases, from which every run starts in the same state.
//!
//! ```text
//! <directory>/.manometer-snapshots/<workload>-<n>/snapshot.json   manifest: the data, the files, their checksum
//! <directory>/.manometer-snapshots/<workload>-<n>/data/           copy of the workload's folder
//! <directory>/.manometer-snapshots/*.new                          incomplete: never used, removed
//! ```
//!
//! A snapshot gets its name only once it is complete and durable.

mod copy;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use manometer_measure::Directory;
use manometer_target::engine;
use manometer_target::engine::directory::{DATABASE, DatabaseManifest, LOADING, MARKER, OWN_ENTRIES};
use rapidhash::v3::rapidhash_v3;
use serde::{Deserialize, Serialize};

pub use self::copy::{CopiedFile, CopyMethod};
use self::copy::{CopyRules, copy_folder};
use super::database_lock::lock_database;
use super::error::PrepareError;
use super::ledger::PreparedData;
use super::snapshot_error::SnapshotError;

/// The largest manifest that is read.
const MOST_MANIFEST_BYTES: u64 = 1 << 30;

const FOLDER: &str = ".manometer-snapshots";
const MANIFEST: &str = "snapshot.json";
const DATA: &str = "data";
const INCOMPLETE: &str = "new";
/// The parts of a workload's folder that are in a snapshot.
const INCLUDED: [&str; 2] = [MARKER, DATABASE];

/// `snapshot.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Manifest {
    #[serde(rename = "prepared")]
    data: PreparedData,
    /// The engine of the database.
    engine: String,
    files: Vec<CopiedFile>,
    /// rapidhash V3 of `files` as JSON.
    checksum: u64,
}

/// A complete snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct DataSnapshot {
    /// Its folder.
    pub path: PathBuf,
    /// The data in it.
    pub data: PreparedData,
    /// Its files.
    pub files: Vec<CopiedFile>,
    engine: String,
}

impl DataSnapshot {
    /// The bytes that restoring it writes: those of files that are neither cloned nor linked.
    pub fn copied_bytes(&self) -> u64 {
        self.files.iter().filter(|file| file.method == CopyMethod::Copy).map(|file| file.bytes).sum()
    }

    /// The total length of its files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Its name, as in the device state.
    pub fn name(&self) -> String {
        self.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }
}

/// The complete snapshots of `directory`, sorted by name.
pub fn snapshots(directory: &Path) -> Vec<DataSnapshot> {
    Directory::open(directory).map(|directory| snapshots_in(&directory)).unwrap_or_default()
}

/// As [`snapshots`], of a directory held open.
pub(super) fn snapshots_in(directory: &Directory) -> Vec<DataSnapshot> {
    named_snapshots(directory).iter().filter_map(read).collect()
}

/// The folders of damaged snapshots, from which files were removed or in which they were changed.
pub(super) fn damaged(directory: &Path) -> Vec<PathBuf> {
    let Ok(directory) = Directory::open(directory) else { return Vec::new() };
    let damaged = named_snapshots(&directory).into_iter().filter(|folder| read(folder).is_none());
    damaged.map(|folder| folder.path().to_owned()).collect()
}

/// All folders with the name of a complete snapshot.
fn named_snapshots(directory: &Directory) -> Vec<Directory> {
    let Ok(folder) = directory.directory(FOLDER) else { return Vec::new() };
    let names = folder.entries().unwrap_or_default().into_iter().map(|(name, _)| name);
    names.filter(|name| !is_incomplete(name)).filter_map(|name| folder.directory(name).ok()).collect()
}

fn is_incomplete(name: &OsStr) -> bool {
    Path::new(name).extension().is_some_and(|end| end == INCOMPLETE)
}

/// The snapshot in `folder`; nothing where it is damaged.
fn read(folder: &Directory) -> Option<DataSnapshot> {
    let manifest = folder.read_all(MANIFEST, MOST_MANIFEST_BYTES).ok()?;
    let manifest: Manifest = serde_json::from_slice(&manifest).ok()?;
    let data = folder.directory(DATA).ok()?;
    let is_intact = |file: &CopiedFile| {
        let bytes = data.read(&file.path).and_then(|file| Ok(file.metadata()?.len()));
        bytes.is_ok_and(|bytes| bytes == file.bytes)
    };
    let is_complete = checksum(&manifest.files) == manifest.checksum && manifest.files.iter().all(is_intact);
    let Manifest { data: prepared, engine, files, .. } = manifest;
    // The marker in the copy is authoritative, not the request for which it was created.
    let data = PreparedData { marker: Some(DatabaseManifest::read_in(&data)?), ..prepared };
    is_complete.then(|| DataSnapshot { path: folder.path().to_owned(), data, files, engine })
}

fn checksum(files: &[CopiedFile]) -> u64 {
    rapidhash_v3(&serde_json::to_vec(files).expect("plain data"))
}

/// Removes incomplete snapshots of a killed preparation.
///
/// # Errors
/// One cannot be removed.
pub fn remove_incomplete(directory: &Directory) -> Result<(), SnapshotError> {
    let Ok(folder) = directory.directory(FOLDER) else { return Ok(()) };
    let names = folder.entries().unwrap_or_default().into_iter().map(|(name, _)| name);
    names.filter(|name| is_incomplete(name)).try_for_each(|name| remove(&folder, &name))
}

fn remove(folder: &Directory, name: impl AsRef<Path>) -> Result<(), SnapshotError> {
    match folder.remove_tree(name.as_ref()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(SnapshotError::at(&folder.path().join(name))(error))
        }
        _ => Ok(()),
    }
}

/// Whether `engine` never changes a file of this name once written.
fn is_immutable(engine: &str, name: &str) -> bool {
    engine::find(engine).is_ok_and(|info| info.is_immutable(name))
}

/// The bytes that a snapshot of `bytes` of data of `engine` writes where files cannot be cloned.
pub fn estimated_bytes(engine: &str, bytes: u64) -> u64 {
    let is_linked = engine::find(engine).is_ok_and(|info| !info.immutable_files.is_empty());
    if is_linked { 0 } else { bytes }
}

/// Creates a snapshot of the database `data`.
///
/// # Errors
/// A worker keeps the lock of the database, it cannot be read or copied, or `check_stop` failed. Nothing is left then.
pub fn create(
    directory: &Directory,
    data: &PreparedData,
    engine: &str,
    check_stop: &mut dyn FnMut() -> Result<(), PrepareError>,
) -> Result<DataSnapshot, PrepareError> {
    let at = |path: &Path| SnapshotError::at(&directory.path().join(path));
    let folder = directory.ensure_directory(FOLDER).map_err(at(Path::new(FOLDER)))?;
    let free = |number: &u32| !folder.holds(format!("{}-{number}", data.workload));
    let name = format!("{}-{}", data.workload, (1..).find(free).unwrap_or(u32::MAX));
    let incomplete = format!("{name}.{INCOMPLETE}");
    let _lock = lock_database(directory, &data.workload, check_stop)?;
    let live = directory.directory(&data.workload).map_err(at(Path::new(&data.workload)))?;
    let created = write_incomplete(&live, &folder, &incomplete, data, engine, check_stop)
        .and_then(|()| Ok(publish(&folder, &incomplete, &name)?));
    if let Err(error) = created {
        // Where this fails, the next preparation removes it.
        let _ = folder.remove_tree(&incomplete);
        return Err(error);
    }
    let damaged = || SnapshotError::at(&folder.path().join(&name))(io::Error::other("the new snapshot is damaged"));
    Ok(folder.directory(&name).ok().and_then(|folder| read(&folder)).ok_or_else(damaged)?)
}

fn write_incomplete(
    from: &Directory,
    folder: &Directory,
    incomplete: &str,
    data: &PreparedData,
    engine: &str,
    check_stop: &mut dyn FnMut() -> Result<(), PrepareError>,
) -> Result<(), PrepareError> {
    let at = || SnapshotError::at(&folder.path().join(incomplete));
    let to = folder.create_directory(incomplete).map_err(at())?;
    let rules = &mut CopyRules {
        includes: &|name| INCLUDED.contains(&name),
        is_immutable: &|name| is_immutable(engine, name),
        check_stop,
    };
    let files = copy_folder(from, &to.create_directory(DATA).map_err(at())?, rules)?;
    let checksum = checksum(&files);
    let manifest = Manifest { data: data.clone(), engine: engine.to_owned(), files, checksum };
    let bytes = serde_json::to_vec_pretty(&manifest).expect("plain data");
    Ok(to.replace(MANIFEST, &bytes).and_then(|()| to.sync()).map_err(at())?)
}

/// Gives the complete snapshot `incomplete` its name, durably.
fn publish(folder: &Directory, incomplete: &str, name: &str) -> Result<(), SnapshotError> {
    let published = folder.rename(incomplete, name).and_then(|()| folder.sync());
    published.map_err(SnapshotError::at(&folder.path().join(name)))
}

/// Replaces the workload's folder by a copy of `snapshot`. At any time the folder is the old one, the new one, or missing.
/// `ours`: the old one was created by the same command.
///
/// # Errors
/// The folder holds data that are in no snapshot, a worker of a killed run keeps its lock, the copy fails, or `check_stop`
/// failed.
pub fn restore(
    directory: &Directory,
    snapshot: &DataSnapshot,
    ours: bool,
    check_stop: &mut dyn FnMut() -> Result<(), PrepareError>,
) -> Result<(), PrepareError> {
    const FRESH: &str = "restored.new";
    const OLD: &str = "replaced.new";
    let workload = &snapshot.data.workload;
    let at = |name: &Path| SnapshotError::at(&directory.path().join(name));
    let all: Vec<DatabaseManifest> = snapshots_in(directory).into_iter().filter_map(|one| one.data.marker).collect();
    check_replaceable(directory, workload, &all, ours)?;
    let folder = directory.directory(FOLDER).map_err(at(Path::new(FOLDER)))?;
    remove(&folder, FRESH)?;
    remove(&folder, OLD)?;
    let rules = &mut CopyRules {
        includes: &|_| true,
        is_immutable: &|name| is_immutable(&snapshot.engine, name),
        check_stop: &mut *check_stop,
    };
    let from = folder.directory(snapshot.name()).and_then(|kept| kept.directory(DATA));
    let from = from.map_err(SnapshotError::at(&snapshot.path))?;
    let fresh = folder.create_directory(FRESH).map_err(at(Path::new(FOLDER)))?;
    if let Err(error) = copy_folder(&from, &fresh, rules) {
        // Where this fails, the next preparation removes it.
        let _ = folder.remove_tree(FRESH);
        return Err(error);
    }
    // A worker that outlived a killed run would continue in the renamed folder.
    let lock = lock_database(directory, workload, check_stop)?;
    // Copying may have taken hours: the folder may have changed.
    check_replaceable(directory, workload, &all, ours)?;
    let (fresh, old) = (Path::new(FOLDER).join(FRESH), Path::new(FOLDER).join(OLD));
    if directory.holds(workload) {
        directory.rename(workload, &old).map_err(at(Path::new(workload)))?;
    }
    directory.rename(&fresh, workload).and_then(|()| directory.sync()).map_err(at(Path::new(workload)))?;
    drop(lock);
    Ok(remove(&folder, OLD)?)
}

/// Refuses to replace the folder of `workload` unless it is empty, ours, or in a snapshot.
fn check_replaceable(
    directory: &Directory,
    workload: &str,
    snapshots: &[DatabaseManifest],
    ours: bool,
) -> Result<(), SnapshotError> {
    let path = directory.path().join(workload);
    let live = match directory.directory(workload) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        live => live.map_err(SnapshotError::at(&path))?,
    };
    let entries = live.entries().map_err(SnapshotError::at(&path))?;
    let names: Vec<String> = entries.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    let foreign = |found: &str| Err(SnapshotError::Foreign { path, found: found.to_owned() });
    if let Some(name) = names.iter().find(|name| !OWN_ENTRIES.contains(&name.as_str())) {
        return foreign(name);
    }
    let holds_data = names.iter().any(|name| name == DATABASE || name == LOADING);
    match DatabaseManifest::read_in(&live) {
        _ if ours || !holds_data => Ok(()),
        Some(there) if snapshots.iter().any(|one| one.differences(&there, false).is_empty()) => Ok(()),
        Some(there) => foreign(&format!("{} records", there.records)),
        None => foreign("without a readable marker"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use manometer_target::engine::directory;
    use serde_json::json;

    use super::*;

    fn prepared() -> PreparedData {
        PreparedData {
            workload: "primary".to_owned(),
            settings: json!(null),
            fingerprint: 0,
            seed: 1,
            marker: None,
            rewritten: false,
            settled: None,
            ended: true,
        }
    }

    fn database(directory: &Path, records: u64, table: &str) {
        let folder = directory.join("primary");
        // Replaced, not overwritten: a table may be shared with the snapshot.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("db")).unwrap();
        let marker = DatabaseManifest {
            engine: "rocksdb".to_owned(),
            engine_version: "1".to_owned(),
            options: json!(null),
            records,
            form: "ycsb".to_owned(),
            value_bytes: 1000,
            load: "bulk".to_owned(),
            seed: 1,
            loaded: true,
            changed: false,
            made_at_unix_ns: 1,
        };
        fs::write(folder.join(MARKER), json!(marker).to_string()).unwrap();
        fs::write(folder.join("lock"), "").unwrap();
        fs::write(folder.join("db/1.sst"), table).unwrap();
        fs::write(folder.join("db/CURRENT"), "MANIFEST-1").unwrap();
    }

    fn table(directory: &Path) -> String {
        fs::read_to_string(directory.join("primary/db/1.sst")).unwrap()
    }

    fn held(dir: &tempfile::TempDir) -> Directory {
        Directory::open(dir.path()).unwrap()
    }

    fn no_stop() -> Result<(), PrepareError> {
        Ok(())
    }

    #[test]
    fn restoring_brings_the_database_back() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        database(dir.path(), 10, "as prepared");
        let created = create(&held(&dir), &prepared(), "rocksdb", &mut no_stop).unwrap();
        assert_eq!((created.name().as_str(), snapshots(dir.path())), ("primary-1", vec![created.clone()]));
        fs::remove_file(dir.path().join("primary/db/1.sst")).unwrap();
        fs::write(dir.path().join("primary/db/1.sst"), "after a run").unwrap();
        restore(&held(&dir), &created, false, &mut no_stop).unwrap();
        assert_eq!(table(dir.path()), "as prepared");
        fs::remove_dir_all(dir.path().join("primary")).unwrap();
        restore(&held(&dir), &created, false, &mut no_stop).unwrap();
        assert_eq!(table(dir.path()), "as prepared");
        assert_eq!(fs::read_dir(dir.path().join(FOLDER)).unwrap().count(), 1, "no other directory is left");
        let second = create(&held(&dir), &prepared(), "rocksdb", &mut no_stop).unwrap();
        assert_eq!(second.name(), "primary-2");
    }

    #[test]
    fn an_incomplete_snapshot_is_removed_and_never_used() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        database(dir.path(), 10, "as prepared");
        let complete = create(&held(&dir), &prepared(), "rocksdb", &mut no_stop).unwrap();
        let incomplete = dir.path().join(FOLDER).join("primary-2.new");
        fs::rename(&complete.path, &incomplete).unwrap();
        assert_eq!(snapshots(dir.path()), []);
        remove_incomplete(&held(&dir)).unwrap();
        assert!(!incomplete.exists());
    }

    #[test]
    fn a_damaged_snapshot_is_not_used() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        database(dir.path(), 10, "as prepared");
        let created = create(&held(&dir), &prepared(), "rocksdb", &mut no_stop).unwrap();
        let manifest = fs::read_to_string(created.path.join(MANIFEST)).unwrap();
        fs::write(created.path.join(MANIFEST), manifest.replace("db/CURRENT", "db/current")).unwrap();
        assert_eq!(snapshots(dir.path()), []);
        assert_eq!(damaged(dir.path()), std::slice::from_ref(&created.path));
        fs::write(created.path.join(MANIFEST), manifest).unwrap();
        assert_eq!((snapshots(dir.path()).len(), damaged(dir.path()).len()), (1, 0));
        fs::write(created.path.join("data/db/CURRENT"), "MANI").unwrap();
        assert_eq!(snapshots(dir.path()), []);
    }

    #[test]
    fn data_that_are_in_no_snapshot_are_not_replaced() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        database(dir.path(), 10, "as prepared");
        let created = create(&held(&dir), &prepared(), "rocksdb", &mut no_stop).unwrap();
        database(dir.path(), 99, "somebody's");
        let error = restore(&held(&dir), &created, false, &mut no_stop).unwrap_err();
        assert!(error.to_string().contains("99 records"), "{error}");
        assert_eq!(table(dir.path()), "somebody's");
        restore(&held(&dir), &created, true, &mut no_stop).unwrap();
        fs::write(dir.path().join("primary/precious.txt"), "mine").unwrap();
        let error = restore(&held(&dir), &created, true, &mut no_stop).unwrap_err();
        assert!(error.to_string().contains("precious.txt"), "{error}");
    }

    #[test]
    fn a_locked_database_is_neither_copied_nor_replaced() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        database(dir.path(), 10, "as prepared");
        let created = create(&held(&dir), &prepared(), "rocksdb", &mut no_stop).unwrap();
        let lock = directory::lock(&held(&dir).directory("primary").unwrap()).unwrap();
        // The lock is released while waiting for it: copying itself checks fewer times.
        let mut waits = 0;
        let mut lock = Some(lock);
        let mut check_stop = || {
            waits += 1;
            if waits > 12 {
                lock.take();
            }
            Ok(())
        };
        restore(&held(&dir), &created, false, &mut check_stop).unwrap();
        assert!(waits > 12);
        let _lock = directory::lock(&held(&dir).directory("primary").unwrap()).unwrap();
        let mut interrupted = false;
        let mut check_stop = || {
            let before = std::mem::replace(&mut interrupted, true);
            if before { Err(PrepareError::Interrupted) } else { Ok(()) }
        };
        let error = create(&held(&dir), &prepared(), "rocksdb", &mut check_stop).unwrap_err();
        assert!(matches!(error, PrepareError::Interrupted), "{error}");
        assert_eq!(fs::read_dir(dir.path().join(FOLDER)).unwrap().count(), 1);
    }

    #[test]
    fn a_stopped_snapshot_leaves_nothing() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        database(dir.path(), 10, "as prepared");
        let mut checks = 0;
        let mut check_stop = || {
            checks += 1;
            if checks > 2 { Err(PrepareError::Interrupted) } else { Ok(()) }
        };
        let error = create(&held(&dir), &prepared(), "map", &mut check_stop).unwrap_err();
        assert!(matches!(error, PrepareError::Interrupted));
        assert_eq!(fs::read_dir(dir.path().join(FOLDER)).unwrap().count(), 0);
    }
}
