//! LIRS: keeps objects with a short inter-reference recency (few other objects between two requests); all others share
//! a small queue.
//!
//! A stack holds objects by last request: those of the large LIR set, those of the small HIR set, and ghosts, down to
//! the last LIR object. An object requested while it is in the stack has a shorter recency than that one and takes its
//! place. As in the authors' program the stack has no separate limit. With sizes both sets are in bytes, and the LIR
//! set shrinks for an object larger than the HIR set.

use super::{CacheConfig, EvictionLog, Policy, PolicyKind, PolicyParameter, SWITCH, share};
use crate::arena::{Arena, List, NONE, Slot};
use crate::key_id::KeyId;
use crate::request::{CacheRequest, RequestFields};
use crate::weight::Weight;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "lirs",
    about: "keeps objects with a short inter-reference recency; all others pass through a small queue",
    source: "Jiang and Zhang, SIGMETRICS 2002; cache thesis 3.3",
    parameters: &[
        PolicyParameter {
            name: "queue",
            meaning: "share of the capacity for the queue; at least 2 units",
            default: 0.01,
            min: 0.0,
            max: 1.0,
            is_whole: false,
        },
        PolicyParameter {
            name: "skip-repeats",
            meaning: "1: a repeated request for the same object changes nothing, as in the authors' program",
            ..SWITCH
        },
    ],
    details: RequestFields::NONE,
    create: by_weight!(Lirs),
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Residence {
    /// In the LIR set, and in the stack.
    Lir,
    /// In the HIR set: in the queue, and possibly in the stack.
    ResidentHir,
    /// A ghost: not in the cache, but in the stack.
    NonResidentHir,
}

#[derive(Debug, Clone, Copy)]
struct Object<W> {
    state: Residence,
    in_stack: bool,
    /// Its slot in the queue.
    queued: Slot,
    weight: W,
}

struct Lirs<W> {
    capacity: u64,
    used: u64,
    lir_max: u64,
    lir: u64,
    skips_repeats: bool,
    last: Option<KeyId>,
    arena: Arena<Object<W>>,
    stack: List,
    /// The slots of the queue, each with the arena slot of its object.
    places: Arena<()>,
    queue: List,
    eviction_log: EvictionLog,
}

impl<W: Weight> Lirs<W> {
    fn new(setting: &CacheConfig<'_>) -> Self {
        let capacity = setting.capacity;
        Self {
            capacity,
            used: 0,
            lir_max: capacity - share(capacity, setting.parameters[0]).max(2).min(capacity),
            lir: 0,
            skips_repeats: setting.parameters[1] == 1.0,
            last: None,
            arena: Arena::new(setting.requests.keys()),
            stack: List::default(),
            places: Arena::new(0),
            queue: List::default(),
            eviction_log: EvictionLog::default(),
        }
    }

    /// Drops everything below the last LIR object.
    fn prune(&mut self) {
        while let Some(slot) = self.stack.oldest() {
            let object = self.arena.value_mut(slot);
            if object.state == Residence::Lir {
                break;
            }
            object.in_stack = false;
            let is_ghost = object.state == Residence::NonResidentHir;
            self.stack.unlink(&mut self.arena, slot);
            if is_ghost {
                self.arena.remove(slot);
            }
        }
    }

    fn enqueue(&mut self, slot: Slot) {
        let place = self.places.insert(slot, ());
        self.queue.push(&mut self.places, place);
        let object = self.arena.value_mut(slot);
        object.state = Residence::ResidentHir;
        object.queued = place;
    }

    fn dequeue(&mut self, place: Slot) -> Slot {
        let slot = self.places.id(place);
        self.queue.unlink(&mut self.places, place);
        self.places.remove(place);
        slot
    }

    /// Moves the last LIR object, the stack's oldest, to the queue.
    fn demote(&mut self) {
        let Some(slot) = self.stack.oldest() else { return };
        self.stack.unlink(&mut self.arena, slot);
        let object = self.arena.value_mut(slot);
        object.in_stack = false;
        self.lir -= object.weight.get();
        self.enqueue(slot);
        self.prune();
    }

    fn evict_above(&mut self, limit: u64) {
        while self.used > limit {
            let Some(place) = self.queue.oldest() else {
                self.demote();
                continue;
            };
            let slot = self.dequeue(place);
            self.eviction_log.record(self.arena.id(slot));
            let object = self.arena.value_mut(slot);
            self.used -= object.weight.get();
            if object.in_stack {
                object.state = Residence::NonResidentHir;
            } else {
                self.arena.remove(slot);
            }
        }
    }

    /// Removes an object from the stack, the queue and the count. Returns whether it was cached.
    #[inline(always)]
    fn take_out(&mut self, slot: Slot) -> bool {
        let Object { state, in_stack, queued, weight } = self.arena.value(slot);
        if in_stack {
            let is_last = self.stack.oldest() == Some(slot);
            self.stack.unlink(&mut self.arena, slot);
            if is_last {
                self.prune();
            }
        }
        match state {
            Residence::NonResidentHir => return false,
            Residence::Lir => self.lir -= weight.get(),
            Residence::ResidentHir => _ = self.dequeue(queued),
        }
        self.used -= weight.get();
        true
    }

    /// Whether a new object joins the LIR set at once: while it has room for all, or is empty.
    fn fills_up(&self, weight: W) -> bool {
        let others = if self.lir == 0 { 0 } else { self.used };
        others + weight.get() <= self.lir_max
    }

    fn put_in(&mut self, slot: Slot, is_low: bool) {
        let object = self.arena.value_mut(slot);
        object.in_stack = true;
        let size = object.weight.get();
        self.used += size;
        self.stack.push(&mut self.arena, slot);
        if !is_low {
            self.enqueue(slot);
            if self.lir == 0 {
                self.prune();
            }
            return;
        }
        self.arena.value_mut(slot).state = Residence::Lir;
        self.lir += size;
        while self.lir > self.lir_max {
            self.demote();
        }
    }
}

impl<W: Weight> Policy for Lirs<W> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.used
    }

    fn holds(&self, id: KeyId) -> bool {
        self.arena.find(id).is_some_and(|slot| self.arena.value(slot).state != Residence::NonResidentHir)
    }

    fn eviction_log(&mut self) -> &mut EvictionLog {
        &mut self.eviction_log
    }

    fn remove(&mut self, id: KeyId) {
        if !self.holds(id) {
            return;
        }
        if let Some(slot) = self.arena.find(id) {
            self.take_out(slot);
            self.arena.remove(slot);
        }
        self.last = self.last.filter(|last| *last != id);
    }

    #[inline]
    fn request(&mut self, request: &CacheRequest) -> bool {
        if self.skips_repeats && self.last.replace(request.id) == Some(request.id) {
            return true;
        }
        let weight = W::of(request.size);
        let object = Object { state: Residence::NonResidentHir, in_stack: false, queued: NONE, weight };
        let Some(slot) = self.arena.find(request.id) else {
            self.evict_above(self.capacity - weight.get());
            let slot = self.arena.insert(request.id, object);
            self.put_in(slot, self.fills_up(weight));
            return false;
        };
        let Object { state, in_stack, .. } = self.arena.value(slot);
        let is_hit = self.take_out(slot);
        self.arena.value_mut(slot).weight = weight;
        // A hit needs room only if the object has grown.
        let limit = self.capacity - weight.get();
        if self.used > limit {
            self.evict_above(limit);
        }
        let fills_up = !is_hit && self.fills_up(weight);
        self.put_in(slot, state == Residence::Lir || in_stack || fills_up);
        is_hit
    }
}
