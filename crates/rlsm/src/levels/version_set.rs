//! The version set: the current version and its manifest.

use std::collections::HashSet;
use std::sync::Arc;

use super::manifest::begin_manifest;
use super::{ExtentReclaimer, LiveRun, RunLocation, Version, VersionUpdate};
use crate::file_name::FileName;
use crate::log::LogWriter;
use crate::storage::Storage;
use crate::{Error, Result, SequenceNumber};

/// A manifest is rewritten once it is this many times as long as it began.
const MANIFEST_GROWTH_MAX: u64 = 4;

/// The current version and the manifest that records it. It is changed under a lock.
pub(crate) struct VersionSet {
    storage: Arc<dyn Storage>,
    manifest: LogWriter,
    number: u64,
    /// The length of the manifest's first record, with the header.
    begun_bytes: u64,
    /// Below this length the manifest is not rewritten.
    bytes_min: u64,
    /// The length of all earlier manifests.
    before_bytes: u64,
    /// The oldest WAL that is needed.
    log: u64,
    /// Every write up to this one is in the levels.
    flushed: SequenceNumber,
    version: Arc<Version>,
    pub reclaimer: Arc<ExtentReclaimer>,
}

impl VersionSet {
    /// Starts a manifest with the given version.
    pub fn begin(
        storage: Arc<dyn Storage>,
        reclaimer: Arc<ExtentReclaimer>,
        version: Arc<Version>,
        log: u64,
        flushed: SequenceNumber,
        number: u64,
        bytes_min: u64,
    ) -> Result<Self> {
        let record = version.record(log, flushed, number + 1);
        let manifest = begin_manifest(&*storage, number, &record)?;
        let begun_bytes = manifest.len();
        Ok(Self {
            storage,
            manifest,
            number,
            begun_bytes,
            bytes_min,
            before_bytes: 0,
            log,
            flushed,
            version,
            reclaimer,
        })
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

    /// The last write that is in the levels.
    pub fn flushed(&self) -> SequenceNumber {
        self.flushed
    }

    /// Bytes written to manifests since the first one here was started.
    pub fn written_bytes(&self) -> u64 {
        self.before_bytes + self.manifest.len()
    }

    /// Records `change` durably, then makes it current. Its files are durable already. `number` is an unused file
    /// number, for a rewritten manifest.
    pub fn apply(&mut self, change: &VersionUpdate, level0_growth: u64, number: u64) -> Result<Arc<Version>> {
        let name = FileName::Manifest(self.number).to_string();
        self.storage.fail_point("manifest: before a record is written");
        self.manifest.append(&change.record(number + 1).encode())?;
        self.manifest.commit()?;
        self.storage.fail_point("manifest: before a record is synced");
        self.manifest.sync()?;
        self.storage.fail_point("manifest: after a record is synced");
        let version = Arc::new(self.version.updated(change, level0_growth));
        self.log = change.log.unwrap_or(self.log);
        self.flushed = change.flushed.unwrap_or(self.flushed);
        let before = std::mem::replace(&mut self.version, Arc::clone(&version));
        mark_dropped_runs(&before, &version, change);
        if self.manifest.len() > self.bytes_min.max(MANIFEST_GROWTH_MAX * self.begun_bytes) {
            self.storage.fail_point("manifest: before it is rewritten");
            let record = version.record(self.log, self.flushed, number + 1);
            self.before_bytes += self.manifest.len();
            self.manifest = begin_manifest(&*self.storage, number, &record)?;
            self.begun_bytes = self.manifest.len();
            self.number = number;
            self.storage.fail_point("manifest: before the old one is removed");
            self.storage.remove(&name).map_err(Error::io("removing", &name))?;
            self.storage.fail_point("manifest: after the old one is removed");
        }
        Ok(version)
    }
}

/// Marks the runs obsolete that `change` dropped from the levels.
fn mark_dropped_runs(before: &Version, after: &Version, change: &VersionUpdate) {
    let stays: HashSet<RunLocation> = (change.ranges_set.iter().flat_map(|range| range.runs.list()))
        .chain(after.level0.list())
        .map(|run| run.location())
        .collect();
    let dropped_ranges = before.ranges.iter().filter(|range| change.ranges_dropped.contains(&range.span.low));
    let candidates = dropped_ranges.flat_map(|range| range.runs.list()).chain(before.level0.list());
    let gone = |run: &&Arc<LiveRun>| !stays.contains(&run.location());
    candidates.filter(gone).for_each(|run| run.mark_obsolete());
}
