//! CLOCK: FIFO in which what was requested meanwhile gets another round.

use super::{Evicted, Kind, Parameter, Policy, Request, Setting, by_weight};
use crate::arena::{Arena, List, Slot};
use crate::number::Id;
use crate::requests::Details;
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "clock",
    about: "first in, first out, but what was requested meanwhile gets another round",
    source: "Corbató, MIT Project MAC 1968",
    parameters: &[Parameter {
        name: "bits",
        meaning: "bits of the counter of hits; each round that an object is spared takes one hit off",
        default: 1.0,
        min: 1.0,
        max: 8.0,
        is_whole: true,
    }],
    details: Details::NONE,
    make: by_weight!(Clock),
};

#[derive(Debug, Clone, Copy)]
struct Object<W> {
    hits: u8,
    weight: W,
}

struct Clock<W> {
    capacity: u64,
    used: u64,
    hits_max: u8,
    arena: Arena<Object<W>>,
    list: List,
    evicted: Evicted,
}

impl<W: Weight> Clock<W> {
    fn new(setting: &Setting<'_>) -> Self {
        Self {
            capacity: setting.capacity,
            used: 0,
            hits_max: u8::MAX >> (8 - setting.parameters[0] as u32),
            arena: Arena::new(setting.requests.keys()),
            list: List::default(),
            evicted: Evicted::default(),
        }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.used > limit {
            let Some(slot) = self.list.oldest() else { break };
            let object = self.arena.value_mut(slot);
            if object.hits > 0 {
                object.hits -= 1;
                self.list.renew(&mut self.arena, slot);
                continue;
            }
            self.evicted.note(self.arena.id(slot));
            self.drop(slot);
        }
    }

    fn drop(&mut self, slot: Slot) {
        self.used -= self.arena.value(slot).weight.get();
        self.list.unlink(&mut self.arena, slot);
        self.arena.remove(slot);
    }
}

impl<W: Weight> Policy for Clock<W> {
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
            let object = self.arena.value_mut(slot);
            object.hits = object.hits.saturating_add(1).min(self.hits_max);
            let before = std::mem::replace(&mut object.weight, weight);
            self.used = self.used - before.get() + weight.get();
            self.evict_above(self.capacity);
            return true;
        }
        self.evict_above(self.capacity - weight.get());
        self.used += weight.get();
        let slot = self.arena.insert(request.id, Object { hits: 0, weight });
        self.list.push(&mut self.arena, slot);
        false
    }
}
