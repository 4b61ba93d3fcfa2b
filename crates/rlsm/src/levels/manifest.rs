//! The levels with the log of their changes.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Change, Edit, Grave, LiveRun, RunRef, Version};
use crate::log::{LogKind, LogWriter};
use crate::names::FileName;
use crate::storage::Storage;
use crate::{Error, Result, Sequence};

/// A manifest is written anew once it is so much longer than what it says.
const GROWTH_MAX: u64 = 4;

/// The current version, and the manifest that tells it. One holder changes it at a time.
pub(crate) struct Levels {
    storage: Arc<dyn Storage>,
    manifest: LogWriter,
    number: u64,
    /// The manifest's length when it was begun.
    begun_bytes: u64,
    /// Below this length it is not written anew.
    bytes_min: u64,
    /// The length of all manifests before it.
    before_bytes: u64,
    /// The oldest write-ahead log that is needed.
    log: u64,
    /// Every write up to this one lies in the levels.
    flushed: Sequence,
    version: Arc<Version>,
    pub grave: Arc<Grave>,
}

impl Levels {
    /// Begins a manifest with what is known.
    pub fn begin(
        storage: Arc<dyn Storage>,
        grave: Arc<Grave>,
        version: Arc<Version>,
        log: u64,
        flushed: Sequence,
        number: u64,
        bytes_min: u64,
    ) -> Result<Self> {
        let record = version.record(log, flushed, number + 1);
        let manifest = begin_manifest(&*storage, number, &record)?;
        let begun_bytes = manifest.len();
        Ok(Self { storage, manifest, number, begun_bytes, bytes_min, before_bytes: 0, log, flushed, version, grave })
    }

    pub fn version(&self) -> &Arc<Version> {
        &self.version
    }

    pub fn log(&self) -> u64 {
        self.log
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    /// The last write that lies in the levels.
    pub fn flushed(&self) -> Sequence {
        self.flushed
    }

    /// How much was written to manifests since the first one here was begun, in bytes.
    pub fn written_bytes(&self) -> u64 {
        self.before_bytes + self.manifest.len()
    }

    /// Makes `change` durable, whose files are durable already, and then current. `number` is a file number that was
    /// never used, for the case that the manifest is written anew.
    pub fn apply(&mut self, change: &Change, level0_growth: u64, number: u64) -> Result<Arc<Version>> {
        let name = FileName::Manifest(self.number).to_string();
        self.storage.reach("manifest: before a record is written");
        self.manifest.append(&change.record(number + 1).encode())?;
        self.manifest.commit()?;
        self.storage.reach("manifest: before a record is synced");
        self.manifest.sync()?;
        self.storage.reach("manifest: after a record is synced");
        let version = Arc::new(self.version.changed(change, level0_growth));
        self.log = change.log.unwrap_or(self.log);
        self.flushed = change.flushed.unwrap_or(self.flushed);
        let before = std::mem::replace(&mut self.version, Arc::clone(&version));
        leave_behind(&before, &version, change);
        if self.manifest.len() > self.bytes_min.max(GROWTH_MAX * self.begun_bytes) {
            self.storage.reach("manifest: before a new one is begun");
            let record = version.record(self.log, self.flushed, number + 1);
            self.before_bytes += self.manifest.len();
            self.manifest = begin_manifest(&*self.storage, number, &record)?;
            self.begun_bytes = self.manifest.len();
            self.number = number;
            self.storage.reach("manifest: before the old one is removed");
            self.storage.remove(&name).map_err(Error::io("removing", &name))?;
            self.storage.reach("manifest: after the old one is removed");
        }
        Ok(version)
    }
}

/// Writes a manifest of one record and gives it its name once it is whole.
fn begin_manifest(storage: &dyn Storage, number: u64, record: &Edit) -> Result<LogWriter> {
    let manifest = NewManifest::write(storage, number, record)?;
    storage.reach("manifest: before a new one has its name");
    let manifest = manifest.publish(storage)?;
    storage.reach("manifest: after a new one has its name");
    Ok(manifest)
}

/// A manifest that is whole and durable, under a passing name.
pub(crate) struct NewManifest {
    log: LogWriter,
    number: u64,
}

impl NewManifest {
    pub fn write(storage: &dyn Storage, number: u64, record: &Edit) -> Result<Self> {
        let passing = format!("{}{PASSING}", FileName::Manifest(number));
        let mut log = LogWriter::create_as(storage, LogKind::Manifest, number, passing)?;
        log.append(&record.encode())?;
        log.commit()?;
        log.sync()?;
        Ok(Self { log, number })
    }

    /// Gives it its name: from now on it counts.
    pub fn publish(self, storage: &dyn Storage) -> Result<LogWriter> {
        let (passing, name) = (self.log.name(), FileName::Manifest(self.number).to_string());
        storage.rename(passing, &name).map_err(Error::io("renaming", passing))?;
        storage.sync_names().map_err(Error::io("syncing the folder for", &name))?;
        Ok(self.log)
    }
}

/// What a manifest's name ends with until it is whole.
pub(crate) const PASSING: &str = ".new";

/// Tells the runs that `change` took out of the levels that they are in no version any more.
fn leave_behind(before: &Version, after: &Version, change: &Change) {
    let stays: HashSet<RunRef> = (change.ranges_set.iter().flat_map(|range| range.runs.list()))
        .chain(after.level0.list())
        .map(|run| run.at())
        .collect();
    let dropped_ranges = before.ranges.iter().filter(|range| change.ranges_dropped.contains(&range.span.low));
    let candidates = dropped_ranges.flat_map(|range| range.runs.list()).chain(before.level0.list());
    let gone = |run: &&Arc<LiveRun>| !stays.contains(&run.at());
    candidates.filter(gone).for_each(|run| run.leave());
}
