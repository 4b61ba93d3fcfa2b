//! What FIFO, LRU and MRU have in common: one queue.

use std::marker::PhantomData;

use super::{Evicted, Policy, Request, Setting};
use crate::arena::{Arena, List, Slot};
use crate::number::Id;
use crate::weight::Weight;

/// How a queue is kept.
pub(super) trait Order: Send {
    /// Whether a hit makes an object the newest.
    const RENEWS: bool;
    /// Whether the newest object goes, not the oldest.
    const EVICTS_NEWEST: bool = false;
}

pub(super) struct Queue<W, O> {
    capacity: u64,
    used: u64,
    arena: Arena<W>,
    list: List,
    evicted: Evicted,
    order: PhantomData<O>,
}

impl<W: Weight, O: Order> Queue<W, O> {
    pub(super) fn new(setting: &Setting<'_>) -> Self {
        let arena = Arena::new(setting.requests.keys());
        let (list, evicted) = (List::default(), Evicted::default());
        Self { capacity: setting.capacity, used: 0, arena, list, evicted, order: PhantomData }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.used > limit {
            let end = if O::EVICTS_NEWEST { self.list.newest() } else { self.list.oldest() };
            let Some(slot) = end else { break };
            self.evicted.note(self.arena.id(slot));
            self.drop(slot);
        }
    }

    fn drop(&mut self, slot: Slot) {
        self.list.unlink(&mut self.arena, slot);
        self.used -= self.arena.value(slot).get();
        self.arena.remove(slot);
    }
}

impl<W: Weight, O: Order> Policy for Queue<W, O> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.used
    }

    fn holds(&self, id: Id) -> bool {
        self.arena.find(id).is_some()
    }

    fn evicted(&mut self) -> &mut Evicted {
        &mut self.evicted
    }

    fn remove(&mut self, id: Id) {
        if let Some(slot) = self.arena.find(id) {
            self.drop(slot);
        }
    }

    #[inline]
    fn request(&mut self, request: &Request) -> bool {
        let weight = W::of(request.size);
        if let Some(slot) = self.arena.find(request.id) {
            if O::RENEWS {
                self.list.renew(&mut self.arena, slot);
            }
            let before = std::mem::replace(self.arena.value_mut(slot), weight);
            self.used = self.used - before.get() + weight.get();
            self.evict_above(self.capacity);
            return true;
        }
        self.evict_above(self.capacity - weight.get());
        self.used += weight.get();
        let slot = self.arena.insert(request.id, weight);
        self.list.push(&mut self.arena, slot);
        false
    }
}
