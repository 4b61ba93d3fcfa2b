//! SIEVE: a hand walks from the oldest to the newest object, spares what was requested since it passed, and evicts
//! what was not. Nothing is ever moved.

use super::{Evicted, Kind, Policy, Request, Setting, by_weight};
use crate::arena::{Arena, List, Slot};
use crate::number::Id;
use crate::requests::Details;
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "sieve",
    about: "a hand walks from old to new and evicts what was not requested since it passed",
    source: "Zhang et al., NSDI 2024",
    parameters: &[],
    details: Details::NONE,
    make: by_weight!(Sieve),
};

#[derive(Debug, Clone, Copy)]
struct Object<W> {
    is_visited: bool,
    weight: W,
}

struct Sieve<W> {
    capacity: u64,
    used: u64,
    arena: Arena<Object<W>>,
    list: List,
    hand: Option<Slot>,
    evicted: Evicted,
}

impl<W: Weight> Sieve<W> {
    fn new(setting: &Setting<'_>) -> Self {
        let arena = Arena::new(setting.requests.keys());
        let (list, evicted) = (List::default(), Evicted::default());
        Self { capacity: setting.capacity, used: 0, arena, list, hand: None, evicted }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.used > limit {
            let Some(slot) = self.hand.or(self.list.oldest()) else { break };
            self.hand = self.arena.newer(slot);
            let object = self.arena.value_mut(slot);
            if object.is_visited {
                object.is_visited = false;
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

impl<W: Weight> Policy for Sieve<W> {
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
            self.hand = self.hand.and_then(|hand| if hand == slot { self.arena.newer(slot) } else { Some(hand) });
            self.drop(slot);
        }
    }

    #[inline]
    fn request(&mut self, request: &Request) -> bool {
        let weight = W::of(request.size);
        if let Some(slot) = self.arena.find(request.id) {
            let object = self.arena.value_mut(slot);
            object.is_visited = true;
            let before = std::mem::replace(&mut object.weight, weight);
            self.used = self.used - before.get() + weight.get();
            self.evict_above(self.capacity);
            return true;
        }
        self.evict_above(self.capacity - weight.get());
        self.used += weight.get();
        let slot = self.arena.insert(request.id, Object { is_visited: false, weight });
        self.list.push(&mut self.arena, slot);
        false
    }
}
