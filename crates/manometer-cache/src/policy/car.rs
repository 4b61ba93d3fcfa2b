//! CAR: ARC with clocks in place of the two lists of what is held, so that a hit only sets a mark. Where objects have
//! sizes every length is in bytes, and a ghost's request moves the share by as many times its size.

use super::lists::Lists;
use super::{Evicted, Kind, Policy, Request, Setting, by_weight};
use crate::arena::Slot;
use crate::number::Id;
use crate::requests::Details;
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "car",
    about: "ARC with clocks: a hit only sets a mark",
    source: "Bansal and Modha, FAST 2004",
    parameters: &[],
    details: Details::NONE,
    make: by_weight!(Car),
};

const T1: usize = 0;
const T2: usize = 1;
const B1: usize = 2;
const B2: usize = 3;

struct Car<W> {
    capacity: u64,
    /// How much of the capacity is meant for the first clock.
    target: f64,
    /// With the marks of what was requested since the hand passed.
    lists: Lists<bool, W, 4>,
    evicted: Evicted,
}

impl<W: Weight> Car<W> {
    fn new(setting: &Setting<'_>) -> Self {
        let lists = Lists::new(setting.requests.keys());
        Self { capacity: setting.capacity, target: 0.0, lists, evicted: Evicted::default() }
    }

    fn replace_above(&mut self, limit: u64) {
        while self.used() > limit {
            let from_first = self.lists.weight(T1) as f64 >= self.target.max(1.0);
            let from = if !self.lists.is_empty(T1) && from_first || self.lists.is_empty(T2) { T1 } else { T2 };
            let Some(slot) = self.lists.oldest(from) else { break };
            let was_requested = std::mem::replace(self.lists.value_mut(slot), false);
            if was_requested {
                self.lists.renew(slot, T2);
                continue;
            }
            self.evicted.note(self.lists.id(slot));
            self.lists.renew(slot, from + B1);
        }
    }

    fn admit_ghost(&mut self, slot: Slot, weight: W) {
        let in_second = self.lists.list(slot) == B2;
        let (this, other) = if in_second { (B2, B1) } else { (B1, B2) };
        let ratio = self.lists.weight(other) as f64 / self.lists.weight(this) as f64;
        let step = ratio.max(1.0) * weight.get() as f64;
        self.target += if in_second { -step } else { step };
        self.target = self.target.clamp(0.0, self.capacity as f64);
        self.lists.reweigh(slot, weight);
        self.lists.renew(slot, T2);
    }

    fn admit(&mut self, request: &Request, weight: W) {
        let (capacity, size) = (self.capacity, weight.get());
        let first = self.lists.weight(T1) + self.lists.weight(B1) + size;
        if first > capacity {
            self.lists.forget_above(B1, (capacity - size).saturating_sub(self.lists.weight(T1)));
        } else {
            let others = first + self.lists.weight(T2);
            self.lists.forget_above(B2, capacity.saturating_mul(2).saturating_sub(others));
        }
        self.lists.insert(T1, request.id, false, weight);
    }
}

impl<W: Weight> Policy for Car<W> {
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
        let known = self.lists.find(request.id);
        if let Some(slot) = known.filter(|slot| self.lists.list(*slot) < B1) {
            *self.lists.value_mut(slot) = true;
            self.lists.reweigh(slot, weight);
            self.replace_above(self.capacity);
            return true;
        }
        self.replace_above(self.capacity - weight.get());
        match known {
            Some(ghost) => self.admit_ghost(ghost, weight),
            None => self.admit(request, weight),
        }
        false
    }
}
