//! Runs that share a maplet: those of Level 0, and those of each range.

use std::sync::Arc;

use super::{LiveRun, RunLocation};
use crate::run::{BlockCache, HashColumn, LookupResult, Maplet};
use crate::{RangeTombstone, Result, SequenceNumber};

/// Runs, the oldest first. Of two versions of a key, unless a range tombstone deletes both, the newer is in the newer
/// run.
#[derive(Clone)]
pub(crate) struct RunSet {
    slots: u8,
    list: Vec<Arc<LiveRun>>,
    maplet: Option<Arc<Maplet>>,
    superseded_entries: u64,
}

impl RunSet {
    /// An empty set for up to `slots` runs.
    pub const fn new(slots: u8) -> Self {
        Self { slots, list: Vec::new(), maplet: None, superseded_entries: 0 }
    }

    pub fn list(&self) -> &[Arc<LiveRun>] {
        &self.list
    }

    /// The set with one more run, the newest. A new maplet is sized for `growth` times the entries of the first run.
    pub fn with_run(&self, run: Arc<LiveRun>, hashes: &HashColumn, growth: u64) -> Self {
        let slot = self.list.len() as u8;
        let (maplet, superseded) = match &self.maplet {
            Some(maplet) => maplet.extended(slot, hashes),
            None => {
                let expected = run.entries.saturating_mul(growth.max(1));
                (Maplet::build(self.slots, expected, &[(0, hashes)]), 0)
            }
        };
        let mut list = self.list.clone();
        list.push(run);
        let superseded_entries = self.superseded_entries + superseded;
        Self { slots: self.slots, list, maplet: Some(Arc::new(maplet)), superseded_entries }
    }

    /// The set without the dropped runs.
    pub fn without_runs(&self, is_dropped: impl Fn(RunLocation) -> bool) -> Self {
        let mut list = Vec::new();
        let mut slots = Vec::new();
        for run in &self.list {
            let stays = !is_dropped(run.location());
            slots.push(stays.then_some(list.len() as u8));
            if stays {
                list.push(Arc::clone(run));
            }
        }
        if list.is_empty() {
            return Self::new(self.slots);
        }
        let maplet = self.maplet.as_ref().map(|maplet| Arc::new(maplet.remapped(&slots)));
        // Which runs superseded which is not recorded: the remaining runs get their share of the estimate.
        let stay: u64 = list.iter().map(|run| run.entries).sum();
        let superseded_entries = self.superseded_entries * stay / self.entries().max(1);
        Self { slots: self.slots, list, maplet, superseded_entries }
    }

    /// The newest version of `key` that `snapshot` sees, if these runs have one.
    pub fn get(
        &self,
        cache: &BlockCache,
        hash: u64,
        key: &[u8],
        snapshot: SequenceNumber,
    ) -> Result<Option<LookupResult>> {
        let Some(maplet) = &self.maplet else { return Ok(None) };
        let mut slots = maplet.slots(hash);
        while slots != 0 {
            let slot = 63 - slots.leading_zeros();
            slots &= !(1 << slot);
            if let Some(found) = self.list[slot as usize].get(cache, hash, key, snapshot)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Whether these runs may have a version of a key with this hash.
    pub fn may_contain(&self, hash: u64) -> bool {
        self.maplet.as_ref().is_some_and(|maplet| maplet.slots(hash) != 0)
    }

    /// Whether the maplet leads to the run in `slot` for all its `hashes`.
    pub fn maplet_covers(&self, slot: usize, hashes: &HashColumn) -> bool {
        let Some(maplet) = &self.maplet else { return hashes.0.is_empty() };
        hashes.0.iter().all(|hash| maplet.slots(u64::from(*hash) << 32) >> slot & 1 == 1)
    }

    pub fn range_tombstones(&self) -> impl Iterator<Item = &RangeTombstone> {
        self.list.iter().flat_map(|run| run.range_tombstones.iter())
    }

    /// Bytes that the runs take on the device.
    pub fn bytes(&self) -> u64 {
        self.list.iter().map(|run| run.stored_bytes).sum()
    }

    pub fn entries(&self) -> u64 {
        self.list.iter().map(|run| run.entries).sum()
    }

    /// The estimated number of entries that other runs of the set supersede.
    pub fn superseded_entries(&self) -> u64 {
        self.superseded_entries
    }

    /// Memory of the maplet and of the runs' indexes.
    pub fn memory_bytes(&self) -> u64 {
        let maplet = self.maplet.as_ref().map_or(0, |maplet| maplet.memory_bytes());
        maplet + self.list.iter().map(|run| run.memory_bytes()).sum::<u64>()
    }
}
