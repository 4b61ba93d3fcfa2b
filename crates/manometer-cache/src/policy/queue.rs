//! What FIFO, LRU, MRU, CLOCK and SIEVE have in common: all that is held stands in one row.

use super::{Evicted, Policy, Request, Setting};
use crate::arena::{Arena, List, Slot};
use crate::number::Id;
use crate::weight::Weight;

/// What a hit does, and what goes.
pub(super) trait Order: Send {
    /// What is kept with each object.
    type Mark: Copy + Default + Send;

    fn new(setting: &Setting<'_>) -> Self;

    /// An object is requested that is held.
    fn hit<W: Weight>(&mut self, _: &mut Row<Self::Mark, W>, _: Slot) {}

    /// The object that goes next: the oldest unless said otherwise.
    fn victim<W: Weight>(&mut self, row: &mut Row<Self::Mark, W>) -> Option<Slot> {
        row.list.oldest()
    }

    /// An object is about to leave.
    fn leave<W: Weight>(&mut self, _: &Row<Self::Mark, W>, _: Slot) {}
}

#[derive(Debug, Clone, Copy)]
struct Object<M, W> {
    mark: M,
    weight: W,
}

/// Objects from the newest to the oldest.
pub(super) struct Row<M, W> {
    arena: Arena<Object<M, W>>,
    list: List,
}

impl<M: Copy, W: Copy> Row<M, W> {
    pub(super) fn newest(&self) -> Option<Slot> {
        self.list.newest()
    }

    pub(super) fn oldest(&self) -> Option<Slot> {
        self.list.oldest()
    }

    /// The next newer one.
    pub(super) fn newer(&self, slot: Slot) -> Option<Slot> {
        self.arena.newer(slot)
    }

    pub(super) fn mark_mut(&mut self, slot: Slot) -> &mut M {
        &mut self.arena.value_mut(slot).mark
    }

    /// Makes an object the newest.
    pub(super) fn renew(&mut self, slot: Slot) {
        self.list.renew(&mut self.arena, slot);
    }
}

pub(super) struct Queue<W, O: Order> {
    capacity: u64,
    used: u64,
    row: Row<O::Mark, W>,
    order: O,
    evicted: Evicted,
}

impl<W: Weight, O: Order> Queue<W, O> {
    pub(super) fn new(setting: &Setting<'_>) -> Self {
        let row = Row { arena: Arena::new(setting.requests.keys()), list: List::default() };
        Self { capacity: setting.capacity, used: 0, row, order: O::new(setting), evicted: Evicted::default() }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.used > limit {
            let Some(slot) = self.order.victim(&mut self.row) else { break };
            self.evicted.note(self.row.arena.id(slot));
            self.drop(slot);
        }
    }

    fn drop(&mut self, slot: Slot) {
        let Row { arena, list } = &mut self.row;
        self.used -= arena.value(slot).weight.get();
        list.unlink(arena, slot);
        arena.remove(slot);
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
        self.row.arena.find(id).is_some()
    }

    fn evicted(&mut self) -> &mut Evicted {
        &mut self.evicted
    }

    fn remove(&mut self, id: Id) {
        if let Some(slot) = self.row.arena.find(id) {
            self.order.leave(&self.row, slot);
            self.drop(slot);
        }
    }

    #[inline]
    fn request(&mut self, request: &Request) -> bool {
        let weight = W::of(request.size);
        if let Some(slot) = self.row.arena.find(request.id) {
            self.order.hit(&mut self.row, slot);
            let before = std::mem::replace(&mut self.row.arena.value_mut(slot).weight, weight);
            self.used = self.used - before.get() + weight.get();
            if weight.get() > before.get() {
                self.evict_above(self.capacity);
            }
            return true;
        }
        self.evict_above(self.capacity - weight.get());
        self.used += weight.get();
        let Row { arena, list } = &mut self.row;
        let slot = arena.insert(request.id, Object { mark: O::Mark::default(), weight });
        list.push(arena, slot);
        false
    }
}
