//! What LFU, its forms with ageing, and GDSF have in common: the lowest priority goes; of equals, what was requested
//! least recently. Requests count while an object is in the cache.

use std::marker::PhantomData;

use super::{Evicted, Policy, Request, Setting};
use crate::heap::Heap;
use crate::number::Id;
use crate::weight::Weight;

/// How objects are ranked.
pub(super) trait Order: Send {
    /// An object's priority: `age` is the highest of those that were evicted.
    fn priority(age: f64, requests: u32, weight: u64) -> f64;
}

/// Priorities are positive, and so are in the order of their bits; then by the last request.
type Rank = (u64, u32);

#[derive(Debug, Clone, Copy)]
struct Object<W> {
    requests: u32,
    weight: W,
}

pub(super) struct Ranked<W, O> {
    capacity: u64,
    used: u64,
    age: f64,
    heap: Heap<Rank, Object<W>>,
    evicted: Evicted,
    order: PhantomData<O>,
}

impl<W: Weight, O: Order> Ranked<W, O> {
    pub(super) fn new(setting: &Setting<'_>) -> Self {
        let heap = Heap::new(setting.requests.keys());
        let evicted = Evicted::default();
        Self { capacity: setting.capacity, used: 0, age: 0.0, heap, evicted, order: PhantomData }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.used > limit {
            let Some((id, (priority, _), object)) = self.heap.lowest() else { break };
            self.age = self.age.max(f64::from_bits(priority));
            self.used -= object.weight.get();
            self.heap.remove(id);
            self.evicted.note(id);
        }
    }

    fn rank(&self, request: &Request, object: Object<W>) -> Rank {
        (O::priority(self.age, object.requests, object.weight.get()).to_bits(), request.position)
    }
}

impl<W: Weight, O: Order> Policy for Ranked<W, O> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.used
    }

    fn holds(&self, id: Id) -> bool {
        self.heap.get(id).is_some()
    }

    fn evicted(&mut self) -> &mut Evicted {
        &mut self.evicted
    }

    fn remove(&mut self, id: Id) {
        if let Some((_, object)) = self.heap.get(id) {
            self.used -= object.weight.get();
            self.heap.remove(id);
        }
    }

    #[inline]
    fn request(&mut self, request: &Request) -> bool {
        let weight = W::of(request.size);
        if let Some((_, before)) = self.heap.get(request.id) {
            let object = Object { requests: before.requests + 1, weight };
            self.heap.update(request.id, self.rank(request, object), object);
            self.used = self.used - before.weight.get() + weight.get();
            if weight.get() > before.weight.get() {
                self.evict_above(self.capacity);
            }
            return true;
        }
        self.evict_above(self.capacity - weight.get());
        self.used += weight.get();
        let object = Object { requests: 1, weight };
        self.heap.insert(request.id, self.rank(request, object), object);
        false
    }
}
