//! ARC: two lists of what was requested once and more often, and what was evicted from each tells which deserves room.
//!
//! The share of the first is a real number, as in the paper: integers give other hit ratios. Where objects have sizes
//! every length is in bytes, and a ghost's request moves the share by as many times its size.

use super::lists::Lists;
use super::{Evicted, Kind, Policy, Request, Setting, by_weight};
use crate::arena::Slot;
use crate::number::Id;
use crate::requests::Details;
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "arc",
    about: "balances what was requested once against what was requested more often",
    source: "Megiddo and Modha, FAST 2003; cache thesis 3.4",
    parameters: &[],
    details: Details::NONE,
    make: by_weight!(Arc),
};

const T1: usize = 0;
const T2: usize = 1;
const B1: usize = 2;
const B2: usize = 3;

struct Arc<W> {
    capacity: u64,
    /// How much of the capacity is meant for the first list.
    target: f64,
    lists: Lists<(), W, 4>,
    evicted: Evicted,
}

impl<W: Weight> Arc<W> {
    fn new(setting: &Setting<'_>) -> Self {
        let lists = Lists::new(setting.requests.keys());
        Self { capacity: setting.capacity, target: 0.0, lists, evicted: Evicted::default() }
    }

    /// Makes ghosts of the oldest objects until no more than `limit` is held.
    #[inline]
    fn replace_above(&mut self, limit: u64, is_ghost_of_second: bool) {
        while self.used() > limit {
            let first = self.lists.weight(T1) as f64;
            let from_first = first > self.target || is_ghost_of_second && first == self.target;
            let from = if !self.lists.is_empty(T1) && from_first || self.lists.is_empty(T2) { T1 } else { T2 };
            let Some(slot) = self.lists.oldest(from) else { break };
            self.evicted.note(self.lists.id(slot));
            self.lists.renew(slot, from + B1);
        }
    }

    fn hit(&mut self, slot: Slot, weight: W) {
        self.lists.reweigh(slot, weight);
        self.lists.renew(slot, T2);
        self.replace_above(self.capacity, false);
    }

    fn ghost_hit(&mut self, slot: Slot, weight: W) {
        let in_second = self.lists.list(slot) == B2;
        let (this, other) = if in_second { (B2, B1) } else { (B1, B2) };
        let ratio = self.lists.weight(other) as f64 / self.lists.weight(this) as f64;
        let step = ratio.max(1.0) * weight.get() as f64;
        self.target += if in_second { -step } else { step };
        self.target = self.target.clamp(0.0, self.capacity as f64);
        self.replace_above(self.capacity - weight.get(), in_second);
        self.lists.reweigh(slot, weight);
        self.lists.renew(slot, T2);
    }

    fn admit(&mut self, request: &Request, weight: W) {
        let (capacity, size) = (self.capacity, weight.get());
        let first = self.lists.weight(T1) + self.lists.weight(B1);
        if first > capacity - size {
            let limit = (capacity - size).saturating_sub(self.lists.weight(T1));
            self.lists.forget_above(B1, limit);
            while self.lists.weight(T1) > capacity - size {
                let Some(slot) = self.lists.oldest(T1) else { break };
                self.evicted.note(self.lists.id(slot));
                self.lists.forget(slot);
            }
        } else {
            let others = first + self.lists.weight(T2) + size;
            self.lists.forget_above(B2, capacity.saturating_mul(2).saturating_sub(others));
        }
        self.replace_above(capacity - size, false);
        self.lists.insert(T1, request.id, (), weight);
    }
}

impl<W: Weight> Policy for Arc<W> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.lists.weight(T1) + self.lists.weight(T2)
    }

    fn holds(&self, id: Id) -> bool {
        self.lists.find(id).is_some_and(|slot| self.lists.list(slot) < B1)
    }

    fn evicted(&mut self) -> &mut Evicted {
        &mut self.evicted
    }

    fn remove(&mut self, id: Id) {
        if let Some(slot) = self.lists.find(id).filter(|slot| self.lists.list(*slot) < B1) {
            self.lists.forget(slot);
        }
    }

    #[inline]
    fn request(&mut self, request: &Request) -> bool {
        let weight = W::of(request.size);
        match self.lists.find(request.id) {
            Some(slot) if self.lists.list(slot) < B1 => {
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
