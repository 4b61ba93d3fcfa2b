//! A database copied while it is open.

use std::path::Path;
use std::sync::Arc;

use crate::core::Core;
use crate::levels::Levels;
use crate::storage::{Disk, Storage};
use crate::{Error, Result};

/// The folder of a backup, made if it is not there.
pub(crate) fn folder(path: &Path) -> Result<Disk> {
    Disk::create(path).map_err(Error::io("making the folder", &path.display().to_string()))
}

/// Copies what is flushed to `to`, an empty folder.
pub(crate) fn backup(core: &Core, to: &Arc<dyn Storage>) -> Result<()> {
    let listing = "listing the folder of the backup";
    let there = to.list().map_err(Error::io(listing, &to.place()))?;
    if let Some(first) = there.first() {
        let what = format!("`{}` is not empty, `{first}` is in it; a backup needs a folder of its own", to.place());
        return Err(Error::Invalid { what });
    }
    // While the version is held, none of its runs is given back.
    let (version, flushed) = core.flushed();
    let mut files: Vec<(u64, String)> = version.runs().map(|run| (run.file.number, run.file.name.clone())).collect();
    files.sort_unstable();
    files.dedup();
    for (_, name) in &files {
        core.storage.copy(name, &**to).map_err(Error::io("copying", name))?;
    }
    to.sync_names().map_err(Error::io("syncing", &to.place()))?;
    let number = files.last().map_or(0, |(number, _)| *number) + 1;
    // The manifest comes last: without one, the folder is no database.
    Levels::begin(Arc::clone(to), Arc::default(), version, number + 1, flushed, number, core.options.manifest_bytes)
        .map(drop)
}
