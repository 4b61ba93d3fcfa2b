//! The common part of ARC, 2Q and others: objects and ghosts in several lists with weights.

use crate::arena::{Arena, List, Slot};
use crate::key_id::KeyId;
use crate::weight::Weight;

#[derive(Debug, Clone, Copy)]
struct Object<V, W> {
    list: u8,
    value: V,
    weight: W,
}

/// `N` lists; every known object is in one of them.
pub(super) struct WeightedLists<V, W, const N: usize> {
    arena: Arena<Object<V, W>>,
    lists: [List; N],
    /// The weight of each list.
    weights: [u64; N],
}

impl<V: Copy, W: Weight, const N: usize> WeightedLists<V, W, N> {
    /// For key IDs below `keys`.
    pub(super) fn new(keys: usize) -> Self {
        Self { arena: Arena::new(keys), lists: [List::default(); N], weights: [0; N] }
    }

    #[inline]
    pub(super) fn find(&self, id: KeyId) -> Option<Slot> {
        self.arena.find(id)
    }

    #[inline]
    pub(super) fn id(&self, slot: Slot) -> KeyId {
        self.arena.id(slot)
    }

    /// The list of an object.
    #[inline]
    pub(super) fn list(&self, slot: Slot) -> usize {
        usize::from(self.arena.value(slot).list)
    }

    #[inline]
    pub(super) fn value(&self, slot: Slot) -> V {
        self.arena.value(slot).value
    }

    #[inline]
    pub(super) fn value_mut(&mut self, slot: Slot) -> &mut V {
        &mut self.arena.value_mut(slot).value
    }

    #[inline]
    pub(super) fn weight_of(&self, slot: Slot) -> W {
        self.arena.value(slot).weight
    }

    /// The weight of a list.
    #[inline]
    pub(super) fn weight(&self, list: usize) -> u64 {
        self.weights[list]
    }

    #[inline]
    pub(super) fn is_empty(&self, list: usize) -> bool {
        self.lists[list].is_empty()
    }

    #[inline]
    pub(super) fn oldest(&self, list: usize) -> Option<Slot> {
        self.lists[list].oldest()
    }

    /// The next newer object of the same list.
    #[inline]
    pub(super) fn newer(&self, slot: Slot) -> Option<Slot> {
        self.arena.newer(slot)
    }

    #[inline]
    pub(super) fn newest(&self, list: usize) -> Option<Slot> {
        self.lists[list].newest()
    }

    /// The number of objects in a list.
    #[inline]
    pub(super) fn len(&self, list: usize) -> u64 {
        self.lists[list].len()
    }

    /// Adds an unknown object as the newest of a list.
    #[inline]
    pub(super) fn insert(&mut self, list: usize, id: KeyId, value: V, weight: W) -> Slot {
        let slot = self.arena.insert(id, Object { list: list as u8, value, weight });
        self.weights[list] += weight.get();
        self.lists[list].push(&mut self.arena, slot);
        slot
    }

    /// Makes an object the newest of a list.
    #[inline]
    pub(super) fn move_to(&mut self, slot: Slot, to: usize) {
        let Object { list, weight, .. } = self.arena.value(slot);
        let from = usize::from(list);
        if from == to {
            return self.lists[to].move_to_newest(&mut self.arena, slot);
        }
        self.lists[from].unlink(&mut self.arena, slot);
        self.weights[from] -= weight.get();
        self.arena.value_mut(slot).list = to as u8;
        self.weights[to] += weight.get();
        self.lists[to].push(&mut self.arena, slot);
    }

    /// Changes the weight of an object. Returns whether it increased.
    #[inline]
    pub(super) fn reweigh(&mut self, slot: Slot, weight: W) -> bool {
        let object = self.arena.value_mut(slot);
        let list = usize::from(object.list);
        let before = std::mem::replace(&mut object.weight, weight);
        self.weights[list] = self.weights[list] - before.get() + weight.get();
        weight.get() > before.get()
    }

    /// Removes an object.
    #[inline]
    pub(super) fn remove(&mut self, slot: Slot) {
        let Object { list, weight, .. } = self.arena.value(slot);
        let list = usize::from(list);
        self.lists[list].unlink(&mut self.arena, slot);
        self.weights[list] -= weight.get();
        self.arena.remove(slot);
    }

    /// Removes the oldest objects of a list until its weight is at most `limit`.
    #[inline]
    pub(super) fn trim(&mut self, list: usize, limit: u64) {
        while self.weights[list] > limit {
            let Some(slot) = self.oldest(list) else { break };
            self.remove(slot);
        }
    }
}
