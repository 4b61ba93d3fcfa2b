//! Writing a manifest, the log of version edits.

use super::version_edit::VersionEdit;
use crate::file_name::FileName;
use crate::log::{LogKind, LogWriter};
use crate::storage::{Storage, sync_directory};
use crate::{Error, Result};

/// Starts a manifest with one record, and publishes it once it is durable.
pub(super) fn begin_manifest(storage: &dyn Storage, number: u64, record: &VersionEdit) -> Result<LogWriter> {
    let manifest = NewManifest::write(storage, number, record)?;
    storage.fail_point("manifest: before a new one is renamed");
    let manifest = manifest.publish(storage)?;
    storage.fail_point("manifest: after a new one is renamed");
    Ok(manifest)
}

/// A manifest that is durable under a temporary name.
pub(crate) struct NewManifest {
    log: LogWriter,
    number: u64,
}

impl NewManifest {
    pub fn write(storage: &dyn Storage, number: u64, record: &VersionEdit) -> Result<Self> {
        let temporary = format!("{}{TEMPORARY_SUFFIX}", FileName::Manifest(number));
        let mut log = LogWriter::create_as(storage, LogKind::Manifest, number, temporary)?;
        log.append(&record.encode())?;
        log.commit()?;
        log.sync()?;
        Ok(Self { log, number })
    }

    /// Renames the manifest: from now on it is the current one.
    pub fn publish(self, storage: &dyn Storage) -> Result<LogWriter> {
        let (temporary, name) = (self.log.name(), FileName::Manifest(self.number).to_string());
        storage.rename(temporary, &name).map_err(Error::io("renaming", temporary))?;
        sync_directory(storage)?;
        Ok(self.log)
    }
}

/// The suffix of a manifest's name until it is durable.
pub(crate) const TEMPORARY_SUFFIX: &str = ".new";
