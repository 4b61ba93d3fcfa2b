//! ARC: two lists of what was requested once and more often, and what was evicted from each tells which deserves room.
//!
//! The share of the first is a real number, as in the paper: integers give other hit ratios. Where objects have sizes
//! every length is in bytes, and a ghost's request moves the share by as many times its size.

use super::{Kind, Policy, Request, Setting, by_weight};
use crate::arena::{Arena, List, Slot};
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "arc",
    about: "balances what was requested once against what was requested more often",
    source: "Megiddo and Modha, FAST 2003; cache thesis 3.1",
    parameters: &[],
    make: by_weight!(Arc),
};

const T1: usize = 0;
const T2: usize = 1;
const B1: usize = 2;
const B2: usize = 3;

#[derive(Debug, Clone, Copy)]
struct Object<W> {
    list: u8,
    weight: W,
}

struct Arc<W> {
    capacity: u64,
    /// How much of the capacity is meant for the first list.
    target: f64,
    arena: Arena<Object<W>>,
    lists: [List; 4],
    /// What each list weighs.
    weights: [u64; 4],
}

impl<W: Weight> Arc<W> {
    fn new(setting: &Setting<'_>) -> Self {
        let arena = Arena::new(setting.requests.keys());
        Self { capacity: setting.capacity, target: 0.0, arena, lists: Default::default(), weights: [0; 4] }
    }

    fn push(&mut self, list: usize, slot: Slot) {
        let object = self.arena.value_mut(slot);
        object.list = list as u8;
        self.weights[list] += object.weight.get();
        self.lists[list].push(&mut self.arena, slot);
    }

    /// Takes an object out of its list, and says which that was.
    fn unlink(&mut self, slot: Slot) -> usize {
        let Object { list, weight } = self.arena.value(slot);
        let list = usize::from(list);
        self.lists[list].unlink(&mut self.arena, slot);
        self.weights[list] -= weight.get();
        list
    }

    /// Forgets the oldest of a list.
    fn forget_oldest(&mut self, list: usize) -> bool {
        let Some(slot) = self.lists[list].oldest() else { return false };
        self.unlink(slot);
        self.arena.remove(slot);
        true
    }

    fn held(&self) -> u64 {
        self.weights[T1] + self.weights[T2]
    }

    /// Makes ghosts of the oldest objects until no more than `limit` is held.
    fn replace_above(&mut self, limit: u64, is_ghost_of_second: bool) {
        while self.held() > limit {
            let first = self.weights[T1] as f64;
            let from_first = first > self.target || is_ghost_of_second && first == self.target;
            let from = if !self.lists[T1].is_empty() && from_first || self.lists[T2].is_empty() { T1 } else { T2 };
            let Some(slot) = self.lists[from].oldest() else { break };
            self.unlink(slot);
            self.push(from + B1, slot);
        }
    }

    fn hit(&mut self, slot: Slot, weight: W) {
        self.unlink(slot);
        self.arena.value_mut(slot).weight = weight;
        self.replace_above(self.capacity - weight.get(), false);
        self.push(T2, slot);
    }

    fn ghost_hit(&mut self, slot: Slot, weight: W) {
        let in_second = usize::from(self.arena.value(slot).list) == B2;
        let (this, other) = if in_second { (B2, B1) } else { (B1, B2) };
        let step = (self.weights[other] as f64 / self.weights[this] as f64).max(1.0) * weight.get() as f64;
        self.target += if in_second { -step } else { step };
        self.target = self.target.clamp(0.0, self.capacity as f64);
        self.replace_above(self.capacity - weight.get(), in_second);
        self.unlink(slot);
        self.arena.value_mut(slot).weight = weight;
        self.push(T2, slot);
    }

    fn admit(&mut self, request: &Request, weight: W) {
        let (capacity, size) = (self.capacity, weight.get());
        let first = |this: &Self| this.weights[T1] + this.weights[B1] + size;
        if first(self) > capacity {
            while first(self) > capacity && self.forget_oldest(B1) {}
            while first(self) > capacity && self.forget_oldest(T1) {}
        } else {
            let all = |this: &Self| this.weights.iter().sum::<u64>() + size;
            while all(self) > capacity.saturating_mul(2) && self.forget_oldest(B2) {}
        }
        self.replace_above(capacity - size, false);
        let slot = self.arena.insert(request.id, Object { list: 0, weight });
        self.push(T1, slot);
    }
}

impl<W: Weight> Policy for Arc<W> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.held()
    }

    #[inline]
    fn request(&mut self, request: &Request) -> bool {
        let weight = W::of(request.size);
        match self.arena.find(request.id) {
            Some(slot) if usize::from(self.arena.value(slot).list) < B1 => {
                self.hit(slot, weight);
                true
            }
            Some(slot) => {
                self.ghost_hit(slot, weight);
                false
            }
            None => {
                self.admit(request, weight);
                false
            }
        }
    }
}
