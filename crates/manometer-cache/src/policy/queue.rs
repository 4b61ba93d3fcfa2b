//! The common part of FIFO, LRU, MRU, CLOCK and SIEVE: all objects are in one queue.

use super::{CacheConfig, EvictionLog, Policy};
use crate::arena::{Arena, List, Slot};
use crate::key_id::KeyId;
use crate::request::CacheRequest;
use crate::weight::Weight;

/// The reaction to hits, and the choice of victims.
pub(super) trait QueueDiscipline: Send {
    /// The value kept with each object.
    type Mark: Copy + Default + Send;

    fn new(setting: &CacheConfig<'_>) -> Self;

    /// Handles a hit.
    fn on_hit<W: Weight>(&mut self, _: &mut QueueEntries<Self::Mark, W>, _: Slot) {}

    /// The next victim; by default the oldest object.
    fn select_victim<W: Weight>(&mut self, entries: &mut QueueEntries<Self::Mark, W>) -> Option<Slot> {
        entries.list.oldest()
    }

    /// Called before an object leaves.
    fn on_removal<W: Weight>(&mut self, _: &QueueEntries<Self::Mark, W>, _: Slot) {}
}

#[derive(Debug, Clone, Copy)]
struct Object<M, W> {
    mark: M,
    weight: W,
}

/// Objects from newest to oldest.
pub(super) struct QueueEntries<M, W> {
    arena: Arena<Object<M, W>>,
    list: List,
}

impl<M: Copy, W: Copy> QueueEntries<M, W> {
    pub(super) fn newest(&self) -> Option<Slot> {
        self.list.newest()
    }

    pub(super) fn oldest(&self) -> Option<Slot> {
        self.list.oldest()
    }

    /// The next newer object.
    pub(super) fn newer(&self, slot: Slot) -> Option<Slot> {
        self.arena.newer(slot)
    }

    pub(super) fn mark_mut(&mut self, slot: Slot) -> &mut M {
        &mut self.arena.value_mut(slot).mark
    }

    /// Makes an object the newest.
    pub(super) fn move_to_newest(&mut self, slot: Slot) {
        self.list.move_to_newest(&mut self.arena, slot);
    }
}

pub(super) struct QueuePolicy<W, O: QueueDiscipline> {
    capacity: u64,
    used: u64,
    entries: QueueEntries<O::Mark, W>,
    order: O,
    eviction_log: EvictionLog,
}

impl<W: Weight, O: QueueDiscipline> QueuePolicy<W, O> {
    pub(super) fn new(setting: &CacheConfig<'_>) -> Self {
        let entries = QueueEntries { arena: Arena::new(setting.requests.keys()), list: List::default() };
        Self {
            capacity: setting.capacity,
            used: 0,
            entries,
            order: O::new(setting),
            eviction_log: EvictionLog::default(),
        }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.used > limit {
            let Some(slot) = self.order.select_victim(&mut self.entries) else { break };
            self.eviction_log.record(self.entries.arena.id(slot));
            self.drop(slot);
        }
    }

    fn drop(&mut self, slot: Slot) {
        let QueueEntries { arena, list } = &mut self.entries;
        self.used -= arena.value(slot).weight.get();
        list.unlink(arena, slot);
        arena.remove(slot);
    }
}

impl<W: Weight, O: QueueDiscipline> Policy for QueuePolicy<W, O> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.used
    }

    fn holds(&self, id: KeyId) -> bool {
        self.entries.arena.find(id).is_some()
    }

    fn eviction_log(&mut self) -> &mut EvictionLog {
        &mut self.eviction_log
    }

    fn remove(&mut self, id: KeyId) {
        if let Some(slot) = self.entries.arena.find(id) {
            self.order.on_removal(&self.entries, slot);
            self.drop(slot);
        }
    }

    #[inline]
    fn request(&mut self, request: &CacheRequest) -> bool {
        let weight = W::of(request.size);
        if let Some(slot) = self.entries.arena.find(request.id) {
            self.order.on_hit(&mut self.entries, slot);
            let before = std::mem::replace(&mut self.entries.arena.value_mut(slot).weight, weight);
            self.used = self.used - before.get() + weight.get();
            if weight.get() > before.get() {
                self.evict_above(self.capacity);
            }
            return true;
        }
        self.evict_above(self.capacity - weight.get());
        self.used += weight.get();
        let QueueEntries { arena, list } = &mut self.entries;
        let slot = arena.insert(request.id, Object { mark: O::Mark::default(), weight });
        list.push(arena, slot);
        false
    }
}
