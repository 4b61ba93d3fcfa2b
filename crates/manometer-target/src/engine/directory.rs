//! The folder of a database: who made it, whether it may be used, replaced, or left alone.
//!
//! ```text
//! <directory>/<workload>/manometer.json   the marker: which experiment made this
//! <directory>/<workload>/lock             held while a run uses the folder
//! <directory>/<workload>/db/              the engine's own files
//! <directory>/<workload>/load/            files on their way into the database
//! ```
//!
//! A measuring tool must not destroy data. Only what carries our marker is ever deleted, and only when
//! the marker is equal to what would be made in its place; everything else is refused.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use manometer_measure::FileLock;
use manometer_measure::clock::WallAnchor;
use manometer_measure::host::mount;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::EngineError;

/// The marker, and one on its way into its place.
pub const MARKER: &str = "manometer.json";
const NEW_MARKER: &str = "manometer.json.new";
const LOCK: &str = "lock";
/// The folder of the engine's own files.
pub const DATABASE: &str = "db";
/// The folder of files on their way into the database.
pub const LOADING: &str = "load";
/// The engine's log, where it writes one.
pub const LOG: &str = "engine.log";
const REMEDIES: [&str; 2] = [
    "reuse it with `--reuse`, or delete it or choose another folder yourself",
    "it cannot serve this one; delete it or choose another folder yourself",
];
/// All that is ever ours in a database's folder.
pub const OWN_ENTRIES: [&str; 6] = [MARKER, NEW_MARKER, LOCK, DATABASE, LOADING, LOG];

/// What made a database: all that its content and layout follow from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatabaseManifest {
    /// The engine.
    pub engine: String,
    /// Its version.
    pub engine_version: String,
    /// Its options as given.
    pub options: Value,
    /// How many records.
    pub records: u64,
    /// How keys and values are formed.
    pub form: String,
    /// Bytes of each value.
    pub value_bytes: u64,
    /// How the records were loaded.
    pub load: String,
    /// The seed of the values.
    pub seed: u64,
    /// Whether loading came to its end.
    pub loaded: bool,
    /// Whether a run that inserts or deletes has been at it since: what it holds is no longer what was loaded.
    #[serde(default)]
    pub changed: bool,
    /// When its loading began, in nanoseconds since 1970: which distinguishes it from an equal one created earlier.
    #[serde(default)]
    pub made_at_unix_ns: u64,
}

impl DatabaseManifest {
    /// The marker in `folder`; nothing where none can be read.
    pub fn read(folder: &Path) -> Option<Self> {
        marker_of(folder).ok().flatten()
    }

    /// Whether the database holds what was loaded, all of it and nothing else.
    fn is_as_loaded(&self) -> bool {
        self.loaded && !self.changed
    }

    /// Whether the database is the one that `wanted` means, or, with `reuse`, can replace it.
    pub fn serves(&self, wanted: &Self, reuse: bool) -> bool {
        self.is_as_loaded() && self.differences(wanted, reuse).is_empty()
    }

    /// The fields in which `other` differs; what became of a database and when it was made are no such fields.
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

/// What may be done with a database of ours that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatabaseReuse {
    /// Replace an equal one, refuse any other.
    #[default]
    Remake,
    /// Use one that serves, refuse any other.
    Reuse,
    /// Use an equal one, replace any other: for runs of one sweep, which made it themselves.
    Renew,
}

/// What a folder means to an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Load it.
    Empty,
    /// It holds the same experiment's database: replace it.
    Replace,
    /// It holds a database that serves: use it.
    Use,
}

/// A database's folder, held.
#[derive(Debug)]
pub struct DatabaseDirectory {
    path: PathBuf,
    marker: DatabaseManifest,
    reused: bool,
    _lock: FileLock,
}

impl DatabaseDirectory {
    /// Takes hold of `path` for a database that is to be as `marker` says. Unless an equal or serving
    /// database may be and is reused, the folder is empty then.
    ///
    /// # Errors
    /// The folder lies in memory, cannot be written, is in use, or holds what must not be touched.
    pub fn prepare(path: &Path, marker: DatabaseManifest, existing: DatabaseReuse) -> Result<Self, EngineError> {
        if mount::is_memory(path) {
            return Err(EngineError::InMemoryFileSystem(path.to_owned()));
        }
        judge(path, &marker, existing)?;
        fs::create_dir_all(path).map_err(|reason| EngineError::NotWritable { path: path.to_owned(), reason })?;
        let lock = lock(path)?;
        // Judged again under the lock: another run may have been at it in between.
        let verdict = judge(path, &marker, existing)?;
        let mut held = Self { path: path.to_owned(), marker, reused: verdict == Verdict::Use, _lock: lock };
        if !held.reused {
            held.clear()?;
            held.marker.changed = false;
            held.marker.made_at_unix_ns = WallAnchor::now().unix_ns;
            held.write_marker(false)?;
            create_empty(&held.database())?;
            create_empty(&held.loading())?;
        } else if let Some(there) = marker_of(path)? {
            // What made it stays what is said of it, whoever uses it.
            held.marker = there;
        }
        Ok(held)
    }

    /// Whether the database was there already.
    pub fn is_reused(&self) -> bool {
        self.reused
    }

    /// Where the engine's files lie.
    pub fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    /// Writes down that the database is complete.
    ///
    /// # Errors
    /// The marker cannot be written.
    pub fn set_loaded(&mut self) -> Result<(), EngineError> {
        remove_dir(&self.loading())?;
        self.write_marker(true)
    }

    /// Writes down that the database is about to be changed: no later run takes it for the one that was loaded.
    ///
    /// # Errors
    /// The marker cannot be written.
    pub fn set_changed(&mut self) -> Result<(), EngineError> {
        self.marker.changed = true;
        self.write_marker(true)
    }

    /// Deletes the database, and the folder when nothing else is in it.
    ///
    /// # Errors
    /// Something cannot be deleted.
    pub fn remove(mut self) -> Result<(), EngineError> {
        self.clear()?;
        remove_file(&self.path.join(LOCK))?;
        // ExternalCleanup in place when someone put a file of their own there.
        let _ = fs::remove_dir(&self.path);
        Ok(())
    }

    fn loading(&self) -> PathBuf {
        self.path.join(LOADING)
    }

    /// Deletes what is ours but the lock, the marker last: what is cut short remains known as ours.
    fn clear(&mut self) -> Result<(), EngineError> {
        let there = DatabaseManifest::read(&self.path);
        // On a full disk there may be no room for a marker that says the same.
        let known = there.is_some_and(|there| !there.loaded && there.differences(&self.marker, false).is_empty());
        if !known && self.path.join(MARKER).exists() {
            self.write_marker(false)?;
        }
        remove_dir(&self.database())?;
        remove_dir(&self.loading())?;
        remove_file(&self.path.join(LOG))?;
        remove_file(&self.path.join(NEW_MARKER))?;
        remove_file(&self.path.join(MARKER))
    }

    /// Writes the marker beside its place and moves it there, so that it is never half a marker.
    fn write_marker(&mut self, loaded: bool) -> Result<(), EngineError> {
        self.marker.loaded = loaded;
        let path = self.path.join(MARKER);
        let write = || -> io::Result<()> {
            let new = self.path.join(NEW_MARKER);
            let mut file = File::create(&new)?;
            serde_json::to_writer_pretty(&mut file, &self.marker)?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
            File::open(&self.path)?.sync_all()
        };
        write().map_err(|reason| not_writable(&path, reason, "writing the marker"))
    }
}

/// What `path` means to an experiment that would make `wanted`.
fn judge(path: &Path, wanted: &DatabaseManifest, existing: DatabaseReuse) -> Result<Verdict, EngineError> {
    let names = match fs::read_dir(path) {
        Ok(entries) => entries
            .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<Vec<_>>>()
            .map_err(|reason| EngineError::NotReadable { path: path.to_owned(), reason })?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Verdict::Empty),
        Err(reason) => return Err(EngineError::NotReadable { path: path.to_owned(), reason }),
    };
    let foreign = |found: &str| EngineError::ForeignFiles { path: path.to_owned(), found: found.to_owned() };
    if let Some(name) = names.iter().find(|name| !OWN_ENTRIES.contains(&name.as_str())) {
        return Err(foreign(name));
    }
    if !names.iter().any(|name| name == MARKER) {
        let held = names.iter().find(|name| *name == DATABASE || *name == LOADING);
        return held.map_or(Ok(Verdict::Empty), |name| Err(foreign(name)));
    }
    let Some(there) = marker_of(path)? else { return Err(foreign(MARKER)) };
    compare(path, &there, wanted, existing, REMEDIES)
}

/// What a marker means to an experiment that would make `wanted`. The remedies are for a database of another
/// experiment, and for one that cannot serve.
pub(super) fn compare(
    path: &Path,
    there: &DatabaseManifest,
    wanted: &DatabaseManifest,
    existing: DatabaseReuse,
    remedies: [&'static str; 2],
) -> Result<Verdict, EngineError> {
    let all = there.differences(wanted, false);
    let refuse = |mut differences: Vec<String>, remedy| {
        if !there.loaded {
            differences.push("its loading did not come to its end".to_owned());
        }
        if there.changed {
            differences.push("it was changed by a run that inserts or deletes".to_owned());
        }
        Err(EngineError::DatabaseMismatch { path: path.to_owned(), differences: differences.join("; "), remedy })
    };
    if all.is_empty() {
        return match existing {
            DatabaseReuse::Reuse if there.changed => refuse(all, "run without `--reuse` to load it again"),
            DatabaseReuse::Reuse | DatabaseReuse::Renew if there.is_as_loaded() => Ok(Verdict::Use),
            _ => Ok(Verdict::Replace),
        };
    }
    match existing {
        DatabaseReuse::Remake => {
            return refuse(all, remedies[0]);
        }
        DatabaseReuse::Renew => return Ok(Verdict::Replace),
        DatabaseReuse::Reuse => {}
    }
    let serves = there.differences(wanted, true);
    if serves.is_empty() && there.is_as_loaded() {
        return Ok(Verdict::Use);
    }
    refuse(serves, remedies[1])
}

/// Removes a database of ours in `path` whose loading did not come to its end: nobody can use it. Whatever else is
/// there stays.
///
/// # Errors
/// It is in use, or cannot be removed.
pub fn remove_incomplete(path: &Path) -> Result<(), EngineError> {
    let half_made = || DatabaseManifest::read(path).filter(|marker| !marker.loaded);
    if half_made().is_none() {
        return Ok(());
    }
    let lock = lock(path)?;
    match half_made() {
        Some(marker) => DatabaseDirectory { path: path.to_owned(), marker, reused: false, _lock: lock }.remove(),
        None => Ok(()),
    }
}

/// The marker in `path`; nothing where it is none of ours.
fn marker_of(path: &Path) -> Result<Option<DatabaseManifest>, EngineError> {
    let path = path.join(MARKER);
    let bytes = fs::read(&path).map_err(|reason| EngineError::NotReadable { path, reason })?;
    Ok(serde_json::from_slice(&bytes).ok())
}

/// Holds the database's folder `path`, as whoever uses it does.
///
/// # Errors
/// It is held, or cannot be written.
pub fn lock(path: &Path) -> Result<FileLock, EngineError> {
    let name = path.join(LOCK);
    let file = File::options().create(true).truncate(false).write(true).open(&name);
    let held = file.and_then(FileLock::take).map_err(|reason| not_writable(&name, reason, "taking the lock"))?;
    held.ok_or_else(|| EngineError::Locked(path.to_owned()))
}

fn create_empty(path: &Path) -> Result<(), EngineError> {
    fs::create_dir(path).map_err(|reason| not_writable(path, reason, "making the folder"))
}

fn remove_dir(path: &Path) -> Result<(), EngineError> {
    ignore_missing(path, fs::remove_dir_all(path))
}

fn remove_file(path: &Path) -> Result<(), EngineError> {
    ignore_missing(path, fs::remove_file(path))
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
