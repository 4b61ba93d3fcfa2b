//! The directory of a database: whose it is, and whether it may be used, replaced or left alone.
//!
//! ```text
//! <directory>/<workload>/manometer.json   the marker: which experiment made this
//! <directory>/<workload>/lock             held while a run uses the folder
//! <directory>/<workload>/db/              the engine's own files
//! <directory>/<workload>/load/            files on their way into the database
//! ```
//!
//! A measuring tool must not destroy data. Only a directory with Manometer's marker is ever deleted, and only if the
//! marker equals the one to be written in its place. Everything else is refused.

use std::io;
use std::path::{Path, PathBuf};

use manometer_measure::clock::WallAnchor;
use manometer_measure::directory::remove_directory;
use manometer_measure::host::mount;
use manometer_measure::{Directory, FileLock};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::EngineError;

/// The file of the marker, and its name while it is being written.
pub const MARKER: &str = "manometer.json";
const NEW_MARKER: &str = "manometer.json.new";
const LOCK: &str = "lock";
/// The largest marker that is read.
const MOST_MARKER_BYTES: u64 = 16 << 20;
/// The directory of the engine's own files.
pub const DATABASE: &str = "db";
/// The directory of files that are being loaded into the database.
pub const LOADING: &str = "load";
/// The engine's log, if it writes one.
pub const LOG: &str = "engine.log";
const REMEDIES: [&str; 2] = [
    "reuse it with `--reuse`, or delete it or choose another directory yourself",
    "it cannot serve this one; delete it or choose another directory yourself",
];
/// All entries that Manometer creates in a database's directory.
pub const OWN_ENTRIES: [&str; 6] = [MARKER, NEW_MARKER, LOCK, DATABASE, LOADING, LOG];

/// The marker of a database: everything that its content and layout follow from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatabaseManifest {
    /// The engine's name.
    pub engine: String,
    /// The engine's version.
    pub engine_version: String,
    /// The engine's options as given.
    pub options: Value,
    /// The number of records.
    pub records: u64,
    /// The form of keys and values.
    pub form: String,
    /// Bytes of each value.
    pub value_bytes: u64,
    /// How the records were loaded.
    pub load: String,
    /// The seed of the values.
    pub seed: u64,
    /// Whether loading is complete.
    pub loaded: bool,
    /// Whether a run that inserts or deletes has changed the data since loading.
    #[serde(default)]
    pub changed: bool,
    /// When loading began, in nanoseconds since 1970. Distinguishes equal databases created at different times.
    #[serde(default)]
    pub made_at_unix_ns: u64,
}

impl DatabaseManifest {
    /// The marker in `folder`; `None` if there is none that can be read.
    pub fn read(folder: &Path) -> Option<Self> {
        Self::read_in(&Directory::open(folder).ok()?)
    }

    /// As [`Self::read`], of a folder held open.
    pub fn read_in(folder: &Directory) -> Option<Self> {
        marker_of(folder).ok().flatten()
    }

    /// Whether the database holds exactly the records that were loaded.
    fn is_as_loaded(&self) -> bool {
        self.loaded && !self.changed
    }

    /// Whether the database is the wanted one or, with `reuse`, can stand in for it.
    pub fn serves(&self, wanted: &Self, reuse: bool) -> bool {
        self.is_as_loaded() && self.differences(wanted, reuse).is_empty()
    }

    /// The names of fields that differ in `other`, leaving out the state of loading and the time of creation.
    pub fn differences(&self, other: &Self, only_what_serves: bool) -> Vec<String> {
        let text = |value: &dyn std::fmt::Display| value.to_string();
        let mut fields = vec![
            ("engine", text(&self.engine), text(&other.engine)),
            ("records", text(&self.records), text(&other.records)),
            ("form", text(&self.form), text(&other.form)),
            ("value bytes", text(&self.value_bytes), text(&other.value_bytes)),
        ];
        if !only_what_serves {
            fields.extend([
                ("engine version", text(&self.engine_version), text(&other.engine_version)),
                ("options", text(&self.options), text(&other.options)),
                ("load", text(&self.load), text(&other.load)),
                ("seed", text(&self.seed), text(&other.seed)),
            ]);
        }
        let differ = fields.into_iter().filter(|(_, there, wanted)| there != wanted);
        differ.map(|(name, there, wanted)| format!("{name} {there}, wanted {wanted}")).collect()
    }
}

/// What may be done with an existing database of Manometer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatabaseReuse {
    /// Replace an equal one; refuse any other.
    #[default]
    Remake,
    /// Use a suitable one; refuse any other.
    Reuse,
    /// Use an equal one; replace any other. For the runs of one sweep, which created it themselves.
    Renew,
}

/// What to do with an existing directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReuseDecision {
    /// There is no database: load one.
    Empty,
    /// It holds the database of the same experiment: replace it.
    Replace,
    /// It holds a suitable database: use it.
    Use,
}

/// The locked directory of a database.
#[derive(Debug)]
pub struct DatabaseDirectory {
    folder: Directory,
    marker: DatabaseManifest,
    reused: bool,
    _lock: FileLock,
}

impl DatabaseDirectory {
    /// Locks `path` for a database described by `marker`. The directory is empty afterwards, unless a suitable database
    /// is reused.
    ///
    /// # Errors
    /// The directory lies in memory, cannot be written, is in use, or holds data that must not be replaced.
    pub fn prepare(path: &Path, marker: DatabaseManifest, existing: DatabaseReuse) -> Result<Self, EngineError> {
        if mount::is_memory(path) {
            return Err(EngineError::InMemoryFileSystem(path.to_owned()));
        }
        match open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(reason) => return Err(EngineError::NotReadable { path: path.to_owned(), reason }),
            Ok(folder) => judge(&folder, &marker, existing).map(drop)?,
        }
        let folder = create(path).map_err(|reason| EngineError::NotWritable { path: path.to_owned(), reason })?;
        let lock = lock(&folder)?;
        // Checked again under the lock: another run may have changed it in between.
        let verdict = judge(&folder, &marker, existing)?;
        let mut held = Self { folder, marker, reused: verdict == ReuseDecision::Use, _lock: lock };
        if !held.reused {
            held.clear()?;
            held.marker.changed = false;
            held.marker.made_at_unix_ns = WallAnchor::now().unix_ns;
            held.write_marker(false)?;
            create_empty(&held.folder, DATABASE)?;
            create_empty(&held.folder, LOADING)?;
        } else if let Some(there) = marker_of(&held.folder)? {
            // A reused database keeps its creator's marker.
            held.marker = there;
        }
        Ok(held)
    }

    /// Whether an existing database is reused.
    pub fn is_reused(&self) -> bool {
        self.reused
    }

    /// The path of the engine's files.
    pub fn database(&self) -> PathBuf {
        self.folder.path().join(DATABASE)
    }

    /// Records that the database is complete.
    ///
    /// # Errors
    /// The marker cannot be written.
    pub fn set_loaded(&mut self) -> Result<(), EngineError> {
        remove_tree(&self.folder, LOADING)?;
        self.write_marker(true)
    }

    /// Records that the database is about to change, so that no later run takes it for the loaded one.
    ///
    /// # Errors
    /// The marker cannot be written.
    pub fn set_changed(&mut self) -> Result<(), EngineError> {
        self.marker.changed = true;
        self.write_marker(true)
    }

    /// Removes the database, and the directory if nothing else is in it.
    ///
    /// # Errors
    /// Something cannot be removed.
    pub fn remove(mut self) -> Result<(), EngineError> {
        self.clear()?;
        remove_file(&self.folder, LOCK)?;
        // The directory stays if it holds other files.
        let _ = remove_directory(self.folder.path());
        Ok(())
    }

    /// Removes all entries of Manometer except the lock. The marker goes last: an interrupted removal stays
    /// recognisable.
    fn clear(&mut self) -> Result<(), EngineError> {
        let there = DatabaseManifest::read_in(&self.folder);
        // A full disk may have no room to write an equal marker.
        let known = there.is_some_and(|there| !there.loaded && there.differences(&self.marker, false).is_empty());
        if !known && self.folder.holds(MARKER) {
            self.write_marker(false)?;
        }
        remove_tree(&self.folder, DATABASE)?;
        remove_tree(&self.folder, LOADING)?;
        [LOG, NEW_MARKER, MARKER].into_iter().try_for_each(|name| remove_file(&self.folder, name))
    }

    /// Writes the marker to a new file and renames it, so that no partial marker is ever visible.
    fn write_marker(&mut self, loaded: bool) -> Result<(), EngineError> {
        self.marker.loaded = loaded;
        let write = || -> io::Result<()> {
            let mut file = self.folder.create_anew(NEW_MARKER)?;
            serde_json::to_writer_pretty(&mut file, &self.marker)?;
            file.sync_all()?;
            self.folder.rename(NEW_MARKER, MARKER)?;
            self.folder.sync()
        };
        write().map_err(|reason| not_writable(&self.folder.path().join(MARKER), reason, "writing the marker"))
    }
}

/// Opens the folder `path` of a database; only the way to the device directory may lead through links.
fn open(path: &Path) -> io::Result<Directory> {
    let (parent, name) = Directory::holding(path)?;
    parent.directory(name)
}

/// As [`open`]; creates what is missing.
fn create(path: &Path) -> io::Result<Directory> {
    if let Some(parent) = path.parent() {
        Directory::create(parent)?;
    }
    let (parent, name) = Directory::holding(path)?;
    parent.ensure_directory(name)
}

/// What to do with `folder` for an experiment that needs the database `wanted`.
fn judge(folder: &Directory, wanted: &DatabaseManifest, existing: DatabaseReuse) -> Result<ReuseDecision, EngineError> {
    let path = folder.path();
    let entries = folder.entries().map_err(|reason| EngineError::NotReadable { path: path.to_owned(), reason })?;
    let names: Vec<String> = entries.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    let foreign = |found: &str| EngineError::ForeignFiles { path: path.to_owned(), found: found.to_owned() };
    if let Some(name) = names.iter().find(|name| !OWN_ENTRIES.contains(&name.as_str())) {
        return Err(foreign(name));
    }
    if !names.iter().any(|name| name == MARKER) {
        let held = names.iter().find(|name| *name == DATABASE || *name == LOADING);
        return held.map_or(Ok(ReuseDecision::Empty), |name| Err(foreign(name)));
    }
    let Some(there) = marker_of(folder)? else { return Err(foreign(MARKER)) };
    compare(path, &there, wanted, existing, REMEDIES)
}

/// What to do with a database marked `there` for an experiment that needs `wanted`. `remedies` are the advice for a
/// database of another experiment, and for an unsuitable one.
pub(super) fn compare(
    path: &Path,
    there: &DatabaseManifest,
    wanted: &DatabaseManifest,
    existing: DatabaseReuse,
    remedies: [&'static str; 2],
) -> Result<ReuseDecision, EngineError> {
    let all = there.differences(wanted, false);
    let refuse = |mut differences: Vec<String>, remedy| {
        if !there.loaded {
            differences.push("its loading was interrupted".to_owned());
        }
        if there.changed {
            differences.push("it was changed by a run that inserts or deletes".to_owned());
        }
        Err(EngineError::DatabaseMismatch { path: path.to_owned(), differences: differences.join("; "), remedy })
    };
    if all.is_empty() {
        return match existing {
            DatabaseReuse::Reuse if there.changed => refuse(all, "run without `--reuse` to load it again"),
            DatabaseReuse::Reuse | DatabaseReuse::Renew if there.is_as_loaded() => Ok(ReuseDecision::Use),
            _ => Ok(ReuseDecision::Replace),
        };
    }
    match existing {
        DatabaseReuse::Remake => {
            return refuse(all, remedies[0]);
        }
        DatabaseReuse::Renew => return Ok(ReuseDecision::Replace),
        DatabaseReuse::Reuse => {}
    }
    let serves = there.differences(wanted, true);
    if serves.is_empty() && there.is_as_loaded() {
        return Ok(ReuseDecision::Use);
    }
    refuse(serves, remedies[1])
}

/// Removes a database of Manometer in `folder` whose loading is incomplete. Leaves anything else.
///
/// # Errors
/// The database is in use, or cannot be removed.
pub fn remove_incomplete(folder: Directory) -> Result<(), EngineError> {
    let incomplete = |folder| DatabaseManifest::read_in(folder).filter(|marker| !marker.loaded);
    if incomplete(&folder).is_none() {
        return Ok(());
    }
    let lock = lock(&folder)?;
    match incomplete(&folder) {
        Some(marker) => DatabaseDirectory { folder, marker, reused: false, _lock: lock }.remove(),
        None => Ok(()),
    }
}

/// The marker in `folder`; `None` if it holds no database of Manometer.
fn marker_of(folder: &Directory) -> Result<Option<DatabaseManifest>, EngineError> {
    let not_readable = |reason| EngineError::NotReadable { path: folder.path().join(MARKER), reason };
    let bytes = folder.read_all(MARKER, MOST_MARKER_BYTES).map_err(not_readable)?;
    Ok(serde_json::from_slice(&bytes).ok())
}

/// Locks the `folder` of a database, as every user of it does.
///
/// # Errors
/// The folder is locked, or cannot be written.
pub fn lock(folder: &Directory) -> Result<FileLock, EngineError> {
    let file = folder.open_file(LOCK, OFlags::WRONLY | OFlags::CREATE | OFlags::NONBLOCK);
    let failed = |reason| not_writable(&folder.path().join(LOCK), reason, "taking the lock");
    file.and_then(FileLock::take).map_err(failed)?.ok_or_else(|| EngineError::Locked(folder.path().to_owned()))
}

fn create_empty(folder: &Directory, name: &str) -> Result<(), EngineError> {
    let failed = |reason| not_writable(&folder.path().join(name), reason, "creating the directory");
    folder.create_directory(name).map(drop).map_err(failed)
}

fn remove_tree(folder: &Directory, name: &str) -> Result<(), EngineError> {
    ignore_missing(&folder.path().join(name), folder.remove_tree(name))
}

fn remove_file(folder: &Directory, name: &str) -> Result<(), EngineError> {
    ignore_missing(&folder.path().join(name), folder.remove_file(name))
}

fn ignore_missing(path: &Path, result: io::Result<()>) -> Result<(), EngineError> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(|reason| EngineError::NotWritable { path: path.to_owned(), reason }),
    }
}

fn not_writable(path: &Path, reason: io::Error, doing: &'static str) -> EngineError {
    match reason.kind() {
        io::ErrorKind::StorageFull => EngineError::NoSpace { path: path.to_owned(), doing },
        _ => EngineError::NotWritable { path: path.to_owned(), reason },
    }
}

#[cfg(test)]
#[path = "directory_tests.rs"]
mod tests;
