//! What is written back from the second level: what was evicted, and what is cleaned before.

use super::super::flows::Flow;
use super::super::second_settings::Metadata;
use super::super::slots::State;
use super::super::storage::{Level, Storage};
use super::super::wake::Wake;
use super::Second;
use crate::number::Id;

/// How many blocks are cleaned at once.
const CLEANED_AT_ONCE: usize = 32;

impl Second<'_> {
    /// Reads a block from the cache; [`Self::write_to_origin`] goes on.
    pub(super) fn write_back(&mut self, storage: &mut Storage<Wake>, slot: u32, id: Id, flow: Flow) {
        let from = self.data_start + u64::from(slot) * self.block;
        let job = storage.open(Wake::WriteBack { id, flow });
        self.after_copy(storage, id, job, self.stretch(Level::Cache, from, self.block, false, flow));
    }

    /// A block that is to be written back was read from the cache.
    pub(super) fn write_to_origin(&mut self, storage: &mut Storage<Wake>, id: Id, flow: Flow) {
        let wake = if flow == Flow::Cleaning { Wake::Cleaned { id } } else { Wake::Nobody };
        let job = storage.open(wake);
        let to = u64::from(id) * self.block;
        storage.submit(job, self.stretch(Level::Origin, to, self.block, true, flow));
        storage.close(job);
    }

    /// A block was cleaned.
    pub(super) fn cleaned(&mut self, storage: &mut Storage<Wake>, id: Id) {
        self.cleaning -= 1;
        if self.slots.state(id) == State::Cleaning {
            self.slots.set(id, State::Clean);
        }
        let follows = self.last_cleaned.replace(id).is_some_and(|last| last + 1 == id);
        if self.settings.metadata.kind == Metadata::BTree && !follows {
            self.change_node(storage, id);
        }
        self.clean(storage);
    }

    /// Writes dirty blocks back in the order of their addresses, where there are more than there should be.
    pub(super) fn clean(&mut self, storage: &mut Storage<Wake>) {
        let Some(above) = self.settings.clean_above else { return };
        let limit = (self.capacity as f64 * above.0) as u64;
        while self.slots.dirty() > limit && self.cleaning < CLEANED_AT_ONCE {
            let next = self.dirty.range(self.cleaned_to..).next().or_else(|| self.dirty.first()).copied();
            let Some(id) = next else { break };
            self.dirty.remove(&id);
            self.cleaned_to = id + 1;
            self.slots.set(id, State::Cleaning);
            self.cleaning += 1;
            match self.slots.of(id) {
                Some(slot) => self.write_back(storage, slot, id, Flow::Cleaning),
                None => self.cleaning -= 1,
            }
        }
    }
}
