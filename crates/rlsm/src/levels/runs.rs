//! Runs that share one table of fingerprints: those of Level 0, and those of each range.

use std::sync::Arc;

use super::{LiveRun, RunRef};
use crate::run::{BlockCache, Found, Hashes, Maplet};
use crate::{RangeDelete, Result, Sequence};

/// Runs from the oldest. Of two versions of a key the newer one never lies in an older run.
#[derive(Clone)]
pub(crate) struct Runs {
    slots: u8,
    list: Vec<Arc<LiveRun>>,
    maplet: Option<Arc<Maplet>>,
    superseded_entries: u64,
}

impl Runs {
    /// None yet, and never more than `slots`.
    pub const fn new(slots: u8) -> Self {
        Self { slots, list: Vec::new(), maplet: None, superseded_entries: 0 }
    }

    pub fn list(&self) -> &[Arc<LiveRun>] {
        &self.list
    }

    /// With one more, the newest. The table is made for `growth` times the entries of the first run.
    pub fn with(&self, run: Arc<LiveRun>, hashes: &Hashes, growth: u64) -> Self {
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

    /// Without the runs that `leaves` names.
    pub fn without(&self, leaves: impl Fn(RunRef) -> bool) -> Self {
        let mut list = Vec::new();
        let mut slots = Vec::new();
        for run in &self.list {
            let stays = !leaves(run.at());
            slots.push(stays.then_some(list.len() as u8));
            if stays {
                list.push(Arc::clone(run));
            }
        }
        if list.is_empty() {
            return Self::new(self.slots);
        }
        let maplet = self.maplet.as_ref().map(|maplet| Arc::new(maplet.remapped(&slots)));
        // Which of them superseded which is not kept: the part that stays is taken to have its share.
        let stay: u64 = list.iter().map(|run| run.entries).sum();
        let superseded_entries = self.superseded_entries * stay / self.entries().max(1);
        Self { slots: self.slots, list, maplet, superseded_entries }
    }

    /// The newest version of `key` that `snapshot` sees, if one lies here.
    pub fn get(&self, cache: &BlockCache, hash: u64, key: &[u8], snapshot: Sequence) -> Result<Option<Found>> {
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

    /// Whether a version of a key with this hash may lie here.
    pub fn may_hold(&self, hash: u64) -> bool {
        self.maplet.as_ref().is_some_and(|maplet| maplet.slots(hash) != 0)
    }

    /// Whether the table leads to the run in `slot` for all its `hashes`.
    pub fn finds_all(&self, slot: usize, hashes: &Hashes) -> bool {
        let Some(maplet) = &self.maplet else { return hashes.0.is_empty() };
        hashes.0.iter().all(|hash| maplet.slots(u64::from(*hash) << 32) >> slot & 1 == 1)
    }

    pub fn range_deletes(&self) -> impl Iterator<Item = &RangeDelete> {
        self.list.iter().flat_map(|run| run.range_deletes.iter())
    }

    /// What the runs take on the device.
    pub fn bytes(&self) -> u64 {
        self.list.iter().map(|run| run.stored_bytes).sum()
    }

    pub fn entries(&self) -> u64 {
        self.list.iter().map(|run| run.entries).sum()
    }

    /// How many of the entries are thought to be superseded by others here.
    pub fn superseded_entries(&self) -> u64 {
        self.superseded_entries
    }

    /// What the table and the runs' indexes take in memory.
    pub fn memory_bytes(&self) -> u64 {
        let maplet = self.maplet.as_ref().map_or(0, |maplet| maplet.memory_bytes());
        maplet + self.list.iter().map(|run| run.memory_bytes()).sum::<u64>()
    }
}
