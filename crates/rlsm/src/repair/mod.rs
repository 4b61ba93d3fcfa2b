//! Making a database again out of what is left of one.
//!
//! Everything that can be read is written anew, the newest version of each key, and a new manifest tells of that. The
//! old files are not removed: each gets a name that the engine passes over. A crash on the way loses nothing: the new
//! files are whole before the first old one is moved aside, and a repair can be done again. Only, once the old manifest
//! is moved, that one knows as little of superseded runs as where a manifest is lost.

mod gather;
mod rebuild;

use std::path::Path;
use std::sync::Arc;

use self::gather::Sources;
use crate::levels::NewManifest;
use crate::names::FileName;
use crate::options::Options;
use crate::storage::Storage;
use crate::verify::{Problem, disk, files, locked, verify_locked};
use crate::{Error, Result};

/// What a repair found and did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// Whether anything was damaged; if not, nothing was done.
    pub was_needed: bool,
    /// Whether the manifest could be read. If not, keys that were deleted long ago may be there again: which of the
    /// runs that were found had been superseded as a whole is not known.
    pub had_manifest: bool,
    /// Runs that entries were taken from.
    pub runs: u64,
    /// Runs passed over because their space had been given back.
    pub dead_runs: u64,
    /// Batches taken from write-ahead logs.
    pub batches: u64,
    /// Keys of the repaired database.
    pub entries: u64,
    /// What could not be read, and so may be lost.
    pub lost: Vec<Problem>,
    /// The old files, under the names that they have now.
    pub moved_aside: Vec<String>,
}

/// Repairs the database in `folder`, which is not open.
///
/// ```
/// # fn main() -> rlsm::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let database = rlsm::Database::open(folder.path())?;
/// # database.put(b"apple", b"green")?;
/// # drop(database);
/// # let is_manifest = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("manifest");
/// # let manifest = std::fs::read_dir(folder.path()).unwrap().flatten().find(is_manifest).unwrap();
/// std::fs::remove_file(manifest.path()).unwrap();
/// let repair = rlsm::repair(folder.path())?;
/// assert!(repair.was_needed && !repair.had_manifest);
/// assert!(rlsm::Database::open(folder.path())?.get(b"apple")?.is_some());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// There is no database, it is open elsewhere, or the file system refuses to write. The new database needs as much
/// space as the old one, which stays.
pub fn repair(folder: impl AsRef<Path>) -> Result<Repair> {
    repair_on(&(Arc::new(disk(folder.as_ref())?) as Arc<dyn Storage>))
}

/// As [`repair`], on a file layer of the caller's.
///
/// # Errors
/// As [`repair`].
pub fn repair_on(storage: &Arc<dyn Storage>) -> Result<Repair> {
    let _lock = locked(&**storage)?;
    let files = files(&**storage)?;
    if verify_locked(&**storage, &files)?.is_sound() {
        return Ok(Repair { had_manifest: true, ..Repair::default() });
    }
    let mut repair = Repair { was_needed: true, ..Repair::default() };
    let sources = Sources::gather(&**storage, &files, &mut repair)?;
    let mut next_number = files.iter().map(|file| file.number()).max().unwrap_or(0) + 1;
    let version = rebuild::rebuild(&**storage, &Options::new(), &sources, &mut next_number, &mut repair)?;
    storage.sync_names().map_err(Error::io("syncing", "the folder"))?;
    storage.reach("repair: before the manifest is written");
    let record = version.record(next_number + 1, sources.last_sequence, next_number + 1);
    let manifest = NewManifest::write(&**storage, next_number, &record)?;
    for file in &files {
        storage.reach("repair: before a file is moved aside");
        repair.moved_aside.push(move_aside(&**storage, *file)?);
    }
    storage.sync_names().map_err(Error::io("syncing", "the folder"))?;
    storage.reach("repair: before the manifest has its name");
    manifest.publish(&**storage)?;
    Ok(repair)
}

/// Gives a file a name that is not the engine's and that no file has.
fn move_aside(storage: &dyn Storage, file: FileName) -> Result<String> {
    let listed = storage.list().map_err(Error::io("listing", "the folder"))?;
    let name = file.to_string();
    let aside = (1_u32..).map(|attempt| format!("{name}.aside{attempt}")).find(|aside| !listed.contains(aside));
    let aside = aside.unwrap_or_default();
    storage.rename(&name, &aside).map_err(Error::io("moving aside", &name))?;
    Ok(aside)
}
