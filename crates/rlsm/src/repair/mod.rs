//! Repairing a damaged database.
//!
//! The newest version of each key that can be read is written to new files, and a new manifest refers to them. The old
//! files are not removed: each gets a name that the engine ignores. A crash loses nothing: the new files are complete
//! before the first old one is renamed, and the repair can be repeated. Only, once the old manifest is renamed, a
//! repeated repair no longer knows which runs were superseded, as if the manifest were lost.

mod rebuild;
mod sources;

use std::path::Path;
use std::sync::Arc;

use self::sources::Sources;
use crate::file_name::FileName;
use crate::levels::NewManifest;
use crate::options::Options;
use crate::storage::{Storage, list, open_directory, sync_directory};
use crate::verify::{Problem, files, locked, verify_locked};
use crate::{Error, Result};

/// What a repair found and did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairReport {
    /// Whether anything was damaged. If not, nothing was changed.
    pub was_needed: bool,
    /// Whether the manifest could be read. If not, keys that were deleted long ago may exist again: it is not known
    /// which of the runs found were superseded.
    pub had_manifest: bool,
    /// Runs that entries were read from.
    pub runs: u64,
    /// Runs that were ignored because their space had been reclaimed.
    pub dead_runs: u64,
    /// Batches read from WALs.
    pub batches: u64,
    /// Keys of the repaired database.
    pub entries: u64,
    /// What could not be read, and may be lost.
    pub lost: Vec<Problem>,
    /// The new names of the old files.
    pub moved_aside: Vec<String>,
}

/// Repairs the database in `directory`, which must not be open.
///
/// ```
/// # fn main() -> rlsm::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let database = rlsm::Database::open(directory.path())?;
/// # database.put(b"apple", b"green")?;
/// # drop(database);
/// # let is_manifest = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("manifest");
/// # let manifest = std::fs::read_dir(directory.path()).unwrap().flatten().find(is_manifest).unwrap();
/// std::fs::remove_file(manifest.path()).unwrap();
/// let repair = rlsm::repair(directory.path())?;
/// assert!(repair.was_needed && !repair.had_manifest);
/// assert!(rlsm::Database::open(directory.path())?.get(b"apple")?.is_some());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// There is no database, it is open elsewhere, or the file system refuses to write. The new files need as much space as
/// the old ones, which stay.
pub fn repair(directory: impl AsRef<Path>) -> Result<RepairReport> {
    repair_on(&(Arc::new(open_directory(directory.as_ref())?) as Arc<dyn Storage>))
}

/// As [`repair`], on the caller's [`Storage`].
///
/// # Errors
/// As [`repair`].
pub fn repair_on(storage: &Arc<dyn Storage>) -> Result<RepairReport> {
    let _lock = locked(&**storage)?;
    let files = files(&**storage)?;
    if verify_locked(&**storage, &files)?.is_sound() {
        return Ok(RepairReport { had_manifest: true, ..RepairReport::default() });
    }
    let mut repair = RepairReport { was_needed: true, ..RepairReport::default() };
    let sources = Sources::gather(&**storage, &files, &mut repair)?;
    let mut next_number = files.iter().map(|file| file.number()).max().unwrap_or(0) + 1;
    let version = rebuild::rebuild(&**storage, &Options::new(), &sources, &mut next_number, &mut repair)?;
    sync_directory(&**storage)?;
    storage.fail_point("repair: before the manifest is written");
    let record = version.record(next_number + 1, sources.last_sequence, next_number + 1);
    let manifest = NewManifest::write(&**storage, next_number, &record)?;
    for file in &files {
        storage.fail_point("repair: before a file is renamed");
        repair.moved_aside.push(move_aside(&**storage, *file)?);
    }
    sync_directory(&**storage)?;
    storage.fail_point("repair: before the manifest is renamed");
    manifest.publish(&**storage)?;
    Ok(repair)
}

/// Renames a file to an unused name that the engine ignores.
fn move_aside(storage: &dyn Storage, file: FileName) -> Result<String> {
    let listed = list(storage)?;
    let name = file.to_string();
    let aside = (1_u32..).map(|attempt| format!("{name}.aside{attempt}")).find(|aside| !listed.contains(aside));
    let aside = aside.unwrap_or_default();
    storage.rename(&name, &aside).map_err(Error::io("renaming", &name))?;
    Ok(aside)
}
