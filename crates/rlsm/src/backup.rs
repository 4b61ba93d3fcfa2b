//! Copying a database while it is open.

use std::sync::Arc;

use crate::engine::Engine;
use crate::levels::VersionSet;
use crate::storage::{Storage, list, sync_directory};
use crate::{Error, Result};

/// Copies what is flushed to `to`, an empty directory.
pub(crate) fn backup(engine: &Engine, to: &Arc<dyn Storage>) -> Result<()> {
    if let Some(first) = list(&**to)?.first() {
        let problem =
            format!("`{}` is not empty: it has `{first}`; back up to an empty or new directory", to.description());
        return Err(Error::Invalid { problem });
    }
    // While the version is held, the space of its runs is not reclaimed.
    let (version, flushed) = engine.flushed();
    let mut files: Vec<(u64, String)> = version.runs().map(|run| (run.file.number, run.file.name.clone())).collect();
    files.sort_unstable();
    files.dedup();
    for (_, name) in &files {
        engine.storage.copy(name, &**to).map_err(Error::io("copying", name))?;
    }
    sync_directory(&**to)?;
    let number = files.last().map_or(0, |(number, _)| *number) + 1;
    // The manifest comes last: without one, the directory holds no database.
    VersionSet::begin(
        Arc::clone(to),
        Arc::default(),
        version,
        number + 1,
        flushed,
        number,
        engine.options.manifest_bytes,
    )
    .map(drop)
}
