//! Prepared databases that are kept, so that every run begins from the same state.
//!
//! ```text
//! <directory>/.manometer-snapshots/<workload>-<n>/snapshot.json   what it is, its files, their checksum
//! <directory>/.manometer-snapshots/<workload>-<n>/data/           the workload's folder as it was
//! <directory>/.manometer-snapshots/*.new                          on its way; never used, removed
//! ```
//!
//! A snapshot has its name only once it is whole and durable.

mod copy;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use manometer_measure::RecordingError;
use manometer_measure::recording::write_file;
use manometer_target::engine::directory::{DATABASE, LOADING, MARKER, Marker, OURS};
use rapidhash::v3::rapidhash_v3;
use serde::{Deserialize, Serialize};

pub use self::copy::{Copied, How};
use self::copy::{Rules, copy_folder};
use super::PrepareError;
use super::hold::hold;
use super::ledger::Prepared;

const FOLDER: &str = ".manometer-snapshots";
const MANIFEST: &str = "snapshot.json";
const DATA: &str = "data";
const UNFINISHED: &str = "new";
/// What of a database's folder makes the database.
const TAKEN: [&str; 2] = [MARKER, DATABASE];

/// A snapshot that cannot be made or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// Something in a database is neither file nor folder.
    #[error("{} is neither a file nor a folder, and no engine makes such: it is not copied", .0.display())]
    NoFile(PathBuf),
    /// What would be replaced is not kept anywhere.
    #[error(
        "{} holds another database ({found}) that no snapshot keeps: delete it or choose another folder yourself",
        path.display()
    )]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// What is in it.
        found: String,
    },
    /// The manifest cannot be written.
    #[error(transparent)]
    Manifest(#[from] RecordingError),
    /// It was stopped on its way.
    #[error(transparent)]
    Stopped(Box<PrepareError>),
}

impl From<PrepareError> for SnapshotError {
    fn from(reason: PrepareError) -> Self {
        Self::Stopped(Box::new(reason))
    }
}

impl SnapshotError {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// What a snapshot is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Manifest {
    prepared: Prepared,
    /// The engine whose files they are.
    engine: String,
    files: Vec<Copied>,
    /// rapidhash V3 of the files as JSON.
    checksum: u64,
}

/// A snapshot that is whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Its folder.
    pub path: PathBuf,
    /// What was prepared.
    pub prepared: Prepared,
    /// Its files.
    pub files: Vec<Copied>,
    engine: String,
}

impl Snapshot {
    /// The bytes that copying it takes, as far as files are copied.
    pub fn copied_bytes(&self) -> u64 {
        self.files.iter().filter(|file| file.how == How::Copy).map(|file| file.bytes).sum()
    }

    /// The length of all its files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Its name, as the state of a device tells it.
    pub fn name(&self) -> String {
        self.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }
}

/// The snapshots of `directory` that are whole, in the order of their names.
pub fn snapshots(directory: &Path) -> Vec<Snapshot> {
    finished(directory).iter().filter_map(|path| read(path)).collect()
}

/// The folders of snapshots that are finished and cannot be used: something was taken from them, or changed.
pub(super) fn damaged(directory: &Path) -> Vec<PathBuf> {
    finished(directory).into_iter().filter(|path| read(path).is_none()).collect()
}

/// What has the name of a finished snapshot.
fn finished(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory.join(FOLDER)) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_none_or(|end| end != UNFINISHED)).collect();
    paths.sort();
    paths
}

/// The snapshot in `path`; nothing where it is not whole.
fn read(path: &Path) -> Option<Snapshot> {
    let manifest: Manifest = serde_json::from_slice(&fs::read(path.join(MANIFEST)).ok()?).ok()?;
    let there = |file: &Copied| {
        fs::metadata(path.join(DATA).join(&file.path)).is_ok_and(|found| found.is_file() && found.len() == file.bytes)
    };
    let whole = checksum(&manifest.files) == manifest.checksum && manifest.files.iter().all(there);
    let Manifest { prepared, engine, files, .. } = manifest;
    // What is in it counts, not what was asked for when it was made.
    let prepared = Prepared { marker: Some(Marker::of(&path.join(DATA))?), ..prepared };
    whole.then(|| Snapshot { path: path.to_owned(), prepared, files, engine })
}

fn checksum(files: &[Copied]) -> u64 {
    rapidhash_v3(&serde_json::to_vec(files).expect("plain data"))
}

/// Removes what a preparation that was cut left on its way.
///
/// # Errors
/// It cannot be removed.
pub fn remove_unfinished(directory: &Path) -> Result<(), SnapshotError> {
    let Ok(entries) = fs::read_dir(directory.join(FOLDER)) else { return Ok(()) };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(|path| path.extension().is_some_and(|end| end == UNFINISHED)).try_for_each(|path| remove(&path))
}

fn remove(path: &Path) -> Result<(), SnapshotError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(SnapshotError::at(path)(error)),
        _ => Ok(()),
    }
}

/// Whether files of `engine` by this name never change once they are written.
fn immutable(engine: &str, name: &str) -> bool {
    engine == "rocksdb" && (name.ends_with(".sst") || name.ends_with(".blob"))
}

/// The bytes that a snapshot of `bytes` of data of `engine` copies where files cannot be cloned.
pub fn estimated_bytes(engine: &str, bytes: u64) -> u64 {
    if engine == "rocksdb" { 0 } else { bytes }
}

/// Keeps the database of `prepared` as a snapshot.
///
/// # Errors
/// A worker holds it and does not end, it cannot be read or copied, or `look` said to stop; then nothing is left of it.
pub fn make(
    directory: &Path,
    prepared: &Prepared,
    engine: &str,
    look: &mut dyn FnMut() -> Result<(), PrepareError>,
) -> Result<Snapshot, SnapshotError> {
    let folder = directory.join(FOLDER);
    fs::create_dir_all(&folder).map_err(SnapshotError::at(&folder))?;
    let free = |number: &u32| !folder.join(format!("{}-{number}", prepared.workload)).exists();
    let number = (1..).find(free).unwrap_or(u32::MAX);
    let path = folder.join(format!("{}-{number}", prepared.workload));
    let unfinished = path.with_extension(UNFINISHED);
    let live = directory.join(&prepared.workload);
    let _held = hold(&live, look)?;
    let made = fill(&live, &unfinished, prepared, engine, look).and_then(|()| settle_in(&unfinished, &path, &folder));
    if let Err(error) = made {
        // What cannot be removed is known by its name, and removed next time.
        let _ = fs::remove_dir_all(&unfinished);
        return Err(error);
    }
    read(&path).ok_or_else(|| SnapshotError::at(&path)(io::Error::other("it is not whole after it was made")))
}

fn fill(
    from: &Path,
    unfinished: &Path,
    prepared: &Prepared,
    engine: &str,
    look: &mut dyn FnMut() -> Result<(), PrepareError>,
) -> Result<(), SnapshotError> {
    fs::create_dir(unfinished).map_err(SnapshotError::at(unfinished))?;
    let rules = &mut Rules {
        takes: &|name| TAKEN.contains(&name),
        immutable: &|name| immutable(engine, name),
        look: &mut || Ok(look()?),
    };
    let files = copy_folder(from, &unfinished.join(DATA), rules)?;
    let checksum = checksum(&files);
    let manifest = Manifest { prepared: prepared.clone(), engine: engine.to_owned(), files, checksum };
    let bytes = serde_json::to_vec_pretty(&manifest).expect("plain data");
    Ok(write_file(&unfinished.join(MANIFEST), &bytes)?)
}

/// Gives what is whole its name, durably.
fn settle_in(unfinished: &Path, path: &Path, folder: &Path) -> Result<(), SnapshotError> {
    sync(unfinished)?;
    fs::rename(unfinished, path).map_err(SnapshotError::at(path))?;
    sync(folder)
}

fn sync(folder: &Path) -> Result<(), SnapshotError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(SnapshotError::at(folder))
}

/// Puts a copy of `snapshot` in place of the workload's folder. At any moment that folder is the old one, the new one,
/// or none; `ours` says that the old one was made by the same command.
///
/// # Errors
/// The folder holds what no snapshot keeps, a worker of a run that was cut is at it and does not end, the copy cannot be
/// made, or `look` said to stop.
pub fn restore(
    directory: &Path,
    snapshot: &Snapshot,
    ours: bool,
    look: &mut dyn FnMut() -> Result<(), PrepareError>,
) -> Result<(), SnapshotError> {
    let (folder, live) = (directory.join(FOLDER), directory.join(&snapshot.prepared.workload));
    let all: Vec<Marker> = snapshots(directory).into_iter().filter_map(|one| one.prepared.marker).collect();
    may_go(&live, &all, ours)?;
    let (fresh, old) = (folder.join("restored.new"), folder.join("replaced.new"));
    remove(&fresh)?;
    remove(&old)?;
    let rules = &mut Rules {
        takes: &|_| true,
        immutable: &|name| immutable(&snapshot.engine, name),
        look: &mut || Ok(look()?),
    };
    if let Err(error) = copy_folder(&snapshot.path.join(DATA), &fresh, rules) {
        // What cannot be removed is known by its name, and removed next time.
        let _ = fs::remove_dir_all(&fresh);
        return Err(error);
    }
    // Whoever outlived a run that was cut would go on in the folder by its name.
    let held = hold(&live, look)?;
    // Copying may have taken hours: others may have come.
    may_go(&live, &all, ours)?;
    if live.exists() {
        fs::rename(&live, &old).map_err(SnapshotError::at(&live))?;
    }
    fs::rename(&fresh, &live).map_err(SnapshotError::at(&live))?;
    sync(directory)?;
    drop(held);
    remove(&old)
}

/// Whether what is in `live` may be replaced: it is empty, ours, or kept by a snapshot.
fn may_go(live: &Path, kept: &[Marker], ours: bool) -> Result<(), SnapshotError> {
    let names: Vec<String> = match fs::read_dir(live) {
        Ok(entries) => entries
            .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<_>>()
            .map_err(SnapshotError::at(live))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(SnapshotError::at(live)(error)),
    };
    let foreign = |found: &str| Err(SnapshotError::Foreign { path: live.to_owned(), found: found.to_owned() });
    if let Some(name) = names.iter().find(|name| !OURS.contains(&name.as_str())) {
        return foreign(name);
    }
    let holds_data = names.iter().any(|name| name == DATABASE || name == LOADING);
    match Marker::of(live) {
        _ if ours || !holds_data => Ok(()),
        // Whatever became of it since.
        Some(there) if kept.iter().any(|kept| kept.differences(&there, false).is_empty()) => Ok(()),
        Some(there) => foreign(&format!("{} records", there.records)),
        None => foreign("without a marker that can be read"),
    }
}

#[cfg(test)]
mod tests {
    use manometer_target::engine::directory;
    use serde_json::json;

    use super::*;

    fn prepared() -> Prepared {
        Prepared {
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
        // Not written in place: a table may be the snapshot's as well.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("db")).unwrap();
        let marker = Marker {
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

    fn go_on() -> Result<(), PrepareError> {
        Ok(())
    }

    #[test]
    fn a_run_begins_from_the_state_that_was_kept() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        database(dir.path(), 10, "as prepared");
        let made = make(dir.path(), &prepared(), "rocksdb", &mut go_on).unwrap();
        assert_eq!((made.name().as_str(), snapshots(dir.path())), ("primary-1", vec![made.clone()]));
        fs::remove_file(dir.path().join("primary/db/1.sst")).unwrap();
        fs::write(dir.path().join("primary/db/1.sst"), "after a run").unwrap();
        restore(dir.path(), &made, false, &mut go_on).unwrap();
        assert_eq!(table(dir.path()), "as prepared");
        fs::remove_dir_all(dir.path().join("primary")).unwrap();
        restore(dir.path(), &made, false, &mut go_on).unwrap();
        assert_eq!(table(dir.path()), "as prepared");
        assert_eq!(fs::read_dir(dir.path().join(FOLDER)).unwrap().count(), 1, "nothing else is left");
        let again = make(dir.path(), &prepared(), "rocksdb", &mut go_on).unwrap();
        assert_eq!(again.name(), "primary-2");
    }

    #[test]
    fn what_is_cut_on_its_way_is_never_used() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        database(dir.path(), 10, "as prepared");
        let whole = make(dir.path(), &prepared(), "rocksdb", &mut go_on).unwrap();
        let unfinished = dir.path().join(FOLDER).join("primary-2.new");
        fs::rename(&whole.path, &unfinished).unwrap();
        assert_eq!(snapshots(dir.path()), []);
        remove_unfinished(dir.path()).unwrap();
        assert!(!unfinished.exists());
    }

    #[test]
    fn one_that_lost_a_file_or_whose_list_was_changed_is_none() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        database(dir.path(), 10, "as prepared");
        let made = make(dir.path(), &prepared(), "rocksdb", &mut go_on).unwrap();
        let manifest = fs::read_to_string(made.path.join(MANIFEST)).unwrap();
        fs::write(made.path.join(MANIFEST), manifest.replace("db/CURRENT", "db/current")).unwrap();
        assert_eq!(snapshots(dir.path()), []);
        assert_eq!(damaged(dir.path()), std::slice::from_ref(&made.path));
        fs::write(made.path.join(MANIFEST), manifest).unwrap();
        assert_eq!((snapshots(dir.path()).len(), damaged(dir.path()).len()), (1, 0));
        fs::write(made.path.join("data/db/CURRENT"), "MANI").unwrap();
        assert_eq!(snapshots(dir.path()), []);
    }

    #[test]
    fn what_no_snapshot_keeps_is_not_replaced() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        database(dir.path(), 10, "as prepared");
        let made = make(dir.path(), &prepared(), "rocksdb", &mut go_on).unwrap();
        database(dir.path(), 99, "somebody's");
        let error = restore(dir.path(), &made, false, &mut go_on).unwrap_err();
        assert!(error.to_string().contains("99 records"), "{error}");
        assert_eq!(table(dir.path()), "somebody's");
        restore(dir.path(), &made, true, &mut go_on).unwrap();
        fs::write(dir.path().join("primary/precious.txt"), "mine").unwrap();
        let error = restore(dir.path(), &made, true, &mut go_on).unwrap_err();
        assert!(error.to_string().contains("precious.txt"), "{error}");
    }

    #[test]
    fn a_database_that_somebody_is_at_is_neither_kept_nor_replaced() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        database(dir.path(), 10, "as prepared");
        let made = make(dir.path(), &prepared(), "rocksdb", &mut go_on).unwrap();
        let held = directory::lock(&dir.path().join("primary")).unwrap();
        // It lets go while it is waited for: copying itself looks fewer times.
        let mut waits = 0;
        let mut held = Some(held);
        let mut look = || {
            waits += 1;
            if waits > 12 {
                held.take();
            }
            Ok(())
        };
        restore(dir.path(), &made, false, &mut look).unwrap();
        assert!(waits > 12);
        let _held = directory::lock(&dir.path().join("primary")).unwrap();
        let mut interrupted = false;
        let mut look = || {
            let before = std::mem::replace(&mut interrupted, true);
            if before { Err(PrepareError::Interrupted) } else { Ok(()) }
        };
        let error = make(dir.path(), &prepared(), "rocksdb", &mut look).unwrap_err();
        assert!(matches!(error, SnapshotError::Stopped(_)), "{error}");
        assert_eq!(fs::read_dir(dir.path().join(FOLDER)).unwrap().count(), 1);
    }

    #[test]
    fn one_that_is_stopped_leaves_nothing() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        database(dir.path(), 10, "as prepared");
        let mut looks = 0;
        let mut look = || {
            looks += 1;
            if looks > 2 { Err(PrepareError::Interrupted) } else { Ok(()) }
        };
        let error = make(dir.path(), &prepared(), "map", &mut look).unwrap_err();
        assert!(matches!(error, SnapshotError::Stopped(_)));
        assert_eq!(fs::read_dir(dir.path().join(FOLDER)).unwrap().count(), 0);
    }
}
