//! Write-back from the second-level cache: of evicted blocks, and of dirty blocks in advance.

use super::super::cache_slots::BlockState;
use super::super::io::{FlowKind, TierLevel};
use super::super::storage::TierStorage;
use super::super::wakeup::Wakeup;
use super::SecondLevelCache;
use super::settings::MetadataKind;
use crate::key_id::KeyId;

/// The number of blocks cleaned at once.
const CLEANED_AT_ONCE: usize = 32;

impl SecondLevelCache<'_> {
    /// Reads a block from the cache; [`Self::write_to_origin`] continues.
    pub(super) fn write_back(&mut self, storage: &mut TierStorage<Wakeup>, slot: u32, id: KeyId, flow: FlowKind) {
        let from = self.data_start + u64::from(slot) * self.block;
        let job = storage.open(Wakeup::WriteBackRead { id, flow });
        self.after_copy(storage, id, job, self.stretch(TierLevel::Cache, from, self.block, false, flow));
    }

    /// Writes a block that was read from the cache to the origin.
    pub(super) fn write_to_origin(&mut self, storage: &mut TierStorage<Wakeup>, id: KeyId, flow: FlowKind) {
        let wake = if flow == FlowKind::Cleaning { Wakeup::BlockCleaned { id } } else { Wakeup::Ignored };
        let job = storage.open(wake);
        let to = u64::from(id) * self.block;
        storage.submit(job, self.stretch(TierLevel::Origin, to, self.block, true, flow));
        storage.close(job);
    }

    /// Completes the cleaning of a block.
    pub(super) fn complete_write_back(&mut self, storage: &mut TierStorage<Wakeup>, id: KeyId) {
        self.cleaning -= 1;
        if self.slots.state(id) == BlockState::Cleaning {
            self.set_clean(id);
        }
        let follows = self.last_cleaned.replace(id).is_some_and(|last| last + 1 == id);
        if self.settings.metadata.kind == MetadataKind::BTree && !follows {
            self.change_node(storage, id);
        }
        self.clean(storage);
    }

    /// Writes dirty blocks back in address order: those that bcache's thread has found, or if there are too many.
    pub(super) fn clean(&mut self, storage: &mut TierStorage<Wakeup>) {
        if let Some(mut cleaner) = self.cleaner.take() {
            self.run_cleaner(storage, &mut cleaner);
            self.cleaner = Some(cleaner);
            return;
        }
        let Some(above) = self.settings.clean_above else { return };
        let limit = (self.capacity as f64 * above.0) as u64;
        while self.slots.dirty() > limit && self.cleaning < CLEANED_AT_ONCE {
            let next = self.dirty.range(self.cleaned_to..).next().or_else(|| self.dirty.first_key_value());
            let Some(id) = next.map(|(id, _)| *id) else { break };
            self.clean_block(storage, id);
        }
    }

    /// Begins to write back a dirty block.
    pub(super) fn clean_block(&mut self, storage: &mut TierStorage<Wakeup>, id: KeyId) {
        self.dirty.remove(&id);
        self.cleaned_to = id + 1;
        if let Some(slot) = self.slots.of(id) {
            self.slots.set(id, BlockState::Cleaning);
            self.cleaning += 1;
            self.write_back(storage, slot, id, FlowKind::Cleaning);
        }
    }
}
