//! LRU-K: what was requested K times longest ago goes; what was not requested K times goes before. The times of
//! requests are remembered for a while after eviction. Requests close together are not taken as one.

use super::lists::Lists;
use super::{Evicted, Kind, Parameter, Policy, Request, Setting, by_weight, share};
use crate::heap::Heap;
use crate::number::Id;
use crate::requests::Details;
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "lru-k",
    about: "evicts what had its K-th last request longest ago",
    source: "O'Neil, O'Neil and Weikum, SIGMOD 1993",
    parameters: &[
        Parameter {
            name: "k",
            meaning: "which of the last requests counts",
            default: 2.0,
            min: 1.0,
            max: K_MAX as f64,
            is_whole: true,
        },
        Parameter {
            name: "history",
            meaning: "how many times the capacity is remembered after eviction",
            default: 1.0,
            min: 0.0,
            max: 1000.0,
            is_whole: false,
        },
    ],
    details: Details::NONE,
    make: by_weight!(LruK),
};

const K_MAX: usize = 4;
/// A time before all others.
const NEVER: u32 = 0;

/// The last requests, the latest first: positions from 1 on.
type Times = [u32; K_MAX];

#[derive(Debug, Clone, Copy)]
struct Object<W> {
    times: Times,
    weight: W,
}

struct LruK<W> {
    capacity: u64,
    used: u64,
    k: usize,
    history_max: u64,
    /// By the K-th last request, then by the last.
    heap: Heap<(u32, u32), Object<W>>,
    history: Lists<Times, W, 1>,
    evicted: Evicted,
}

impl<W: Weight> LruK<W> {
    fn new(setting: &Setting<'_>) -> Self {
        Self {
            capacity: setting.capacity,
            used: 0,
            k: setting.parameters[0] as usize,
            history_max: share(setting.capacity, setting.parameters[1]),
            heap: Heap::new(setting.requests.keys()),
            history: Lists::new(setting.requests.keys()),
            evicted: Evicted::default(),
        }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.used > limit {
            let Some((id, _, Object { times, weight })) = self.heap.lowest() else { break };
            self.used -= weight.get();
            self.heap.remove(id);
            self.evicted.note(id);
            self.history.insert(0, id, times, weight);
            self.history.forget_above(0, self.history_max);
        }
    }

    fn rank(&self, times: &Times) -> (u32, u32) {
        (times[self.k - 1], times[0])
    }
}

fn requested(before: Times, position: u32) -> Times {
    let [last, second, third, _] = before;
    [position + 1, last, second, third]
}

impl<W: Weight> Policy for LruK<W> {
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
            let times = requested(before.times, request.position);
            self.heap.update(request.id, self.rank(&times), Object { times, weight });
            self.used = self.used - before.weight.get() + weight.get();
            if weight.get() > before.weight.get() {
                self.evict_above(self.capacity);
            }
            return true;
        }
        let mut times = [NEVER; K_MAX];
        if let Some(ghost) = self.history.find(request.id) {
            times = self.history.value(ghost);
            self.history.forget(ghost);
        }
        self.evict_above(self.capacity - weight.get());
        self.used += weight.get();
        let times = requested(times, request.position);
        self.heap.insert(request.id, self.rank(&times), Object { times, weight });
        false
    }
}
