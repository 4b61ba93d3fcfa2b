//! The policy `mq` of Linux's dm-cache until 4.5: objects are promoted for frequent requests. Two sets of queues by the
//! logarithm of requests, one of cached objects and one of as many candidates; hits within a second count once.
//!
//! Left to the tier simulation: bypass of sequential requests, dirty blocks, which are not demoted, and discards. With
//! sizes both sets are in bytes.

use super::lists::WeightedLists;
use super::time_source::{REQUESTS_PER_SECOND, TimeSource};
use super::{CacheConfig, EvictionLog, Policy, PolicyKind, PolicyParameter, is_full};
use crate::arena::Slot;
use crate::key_id::KeyId;
use crate::request::{CacheRequest, RequestFields};
use crate::weight::Weight;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "dm-cache-mq",
    about: "promotes objects requested often enough while they were candidates; keeps as many candidates as cached objects",
    source: "Linux, dm-cache-policy-mq.c, version 1.1 of 2013; cache thesis 4.2",
    parameters: &[
        PolicyParameter {
            name: "read",
            meaning: "requests above the threshold that a read needs",
            default: 4.0,
            ..EXTRA
        },
        PolicyParameter {
            name: "write",
            meaning: "requests above the threshold that a write needs",
            default: 8.0,
            ..EXTRA
        },
        REQUESTS_PER_SECOND,
    ],
    details: RequestFields { writes: true, times: true, ..RequestFields::NONE },
    create: by_weight!(DmCacheMq),
};

const EXTRA: PolicyParameter =
    PolicyParameter { name: "", meaning: "", default: 0.0, min: 0.0, max: 1e9, is_whole: true };

const LEVELS: usize = 16;
/// The indices of the sets.
const CANDIDATES: usize = 0;
const CACHED: usize = 1;
/// The threshold is the mean of this many of the lowest objects.
const AVERAGED: usize = 20;
/// The threshold is updated after as many hits as the cache has room for, but at least this many.
const GENERATION_MIN: u64 = 1024;

#[derive(Debug, Clone, Copy)]
struct Object {
    hits: u32,
    /// The second of its last hit.
    second: u32,
}

struct DmCacheMq<W> {
    capacity: u64,
    extra: [u64; 2],
    seconds: TimeSource,
    threshold: u64,
    /// The hits of a generation, and the hits since the threshold was updated.
    generation: u64,
    hits: u64,
    lists: WeightedLists<Object, W, { 2 * LEVELS }>,
    /// The index of the lowest list of each set: rotating it moves all levels down.
    lowest: [usize; 2],
    weights: [u64; 2],
    eviction_log: EvictionLog,
}

impl<W: Weight> DmCacheMq<W> {
    fn new(setting: &CacheConfig<'_>) -> Self {
        let [read, write, rate] = [0, 1, 2].map(|at| setting.parameters[at]);
        Self {
            capacity: setting.capacity,
            extra: [read as u64, write as u64],
            seconds: TimeSource::new(setting.requests, rate),
            threshold: 0,
            generation: (setting.capacity / setting.mean_weight()).max(GENERATION_MIN),
            hits: 0,
            lists: WeightedLists::new(setting.requests.keys()),
            lowest: [0; 2],
            weights: [0; 2],
            eviction_log: EvictionLog::default(),
        }
    }

    fn list(&self, set: usize, level: usize) -> usize {
        set * LEVELS + (self.lowest[set] + level) % LEVELS
    }

    fn set_of(&self, slot: Slot) -> usize {
        self.lists.list(slot) / LEVELS
    }

    fn list_for(&self, set: usize, hits: u32) -> usize {
        self.list(set, (hits.ilog2() as usize).min(LEVELS - 1))
    }

    /// Drops the oldest object of the lowest level of a set; if that empties the level, all levels move down.
    fn pop(&mut self, set: usize) {
        let oldest = |level| self.lists.oldest(self.list(set, level)).map(|slot| (level, slot));
        let Some((level, slot)) = (0..LEVELS).find_map(oldest) else { return };
        if set == CACHED {
            self.eviction_log.record(self.lists.id(slot));
        }
        self.forget(slot);
        if level == 0 && self.lists.is_empty(self.lowest[set] + set * LEVELS) {
            self.lowest[set] = (self.lowest[set] + 1) % LEVELS;
        }
    }

    fn forget(&mut self, slot: Slot) {
        self.weights[self.set_of(slot)] -= self.lists.weight_of(slot).get();
        self.lists.remove(slot);
    }

    fn pop_above(&mut self, set: usize, limit: u64) {
        while self.weights[set] > limit {
            self.pop(set);
        }
    }

    /// Counts a hit, unless one was counted in this second. Returns whether it was counted.
    fn count(&mut self, slot: Slot, second: u32) -> bool {
        let object = self.lists.value_mut(slot);
        if object.second == second {
            return false;
        }
        *object = Object { hits: object.hits + 1, second };
        let hits = object.hits;
        self.hits += 1;
        self.take_threshold();
        self.lists.move_to(slot, self.list_for(self.set_of(slot), hits));
        true
    }

    /// Updates the threshold at the end of a generation, by the objects that would be evicted.
    fn take_threshold(&mut self) {
        if self.hits < self.generation {
            return;
        }
        let objects = (0..LEVELS).map(|level| self.lists.len(self.list(CACHED, level))).sum();
        if !is_full(self.capacity, self.weights[CACHED], objects) {
            return;
        }
        self.hits = 0;
        let (mut total, mut count) = (0, 0);
        for level in 0..LEVELS {
            let mut next = self.lists.oldest(self.list(CACHED, level));
            while let Some(slot) = next.filter(|_| count < AVERAGED) {
                total += u64::from(self.lists.value(slot).hits);
                count += 1;
                next = self.lists.newer(slot);
            }
        }
        self.threshold = total.div_ceil(count.max(1) as u64);
    }

    fn needed(&self, request: &CacheRequest) -> u64 {
        self.threshold + self.extra[usize::from(request.is_write)]
    }

    fn insert(&mut self, set: usize, id: KeyId, object: Object, weight: W) {
        self.pop_above(set, self.capacity - weight.get());
        self.weights[set] += weight.get();
        self.lists.insert(self.list_for(set, object.hits), id, object, weight);
    }

    fn reweigh(&mut self, slot: Slot, weight: W) {
        let set = self.set_of(slot);
        self.weights[set] = self.weights[set] - self.lists.weight_of(slot).get() + weight.get();
        self.lists.reweigh(slot, weight);
    }

    fn candidate(&mut self, slot: Slot, request: &CacheRequest, second: u32) {
        let is_counted = self.count(slot, second);
        let object = self.lists.value(slot);
        if !is_counted || u64::from(object.hits) < self.needed(request) {
            return self.pop_above(CANDIDATES, self.capacity);
        }
        let weight = self.lists.weight_of(slot);
        self.forget(slot);
        self.insert(CACHED, request.id, object, weight);
    }
}

impl<W: Weight> Policy for DmCacheMq<W> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.weights[CACHED]
    }

    fn holds(&self, id: KeyId) -> bool {
        self.lists.find(id).is_some_and(|slot| self.set_of(slot) == CACHED)
    }

    fn eviction_log(&mut self) -> &mut EvictionLog {
        &mut self.eviction_log
    }

    fn remove(&mut self, id: KeyId) {
        if let Some(slot) = self.lists.find(id).filter(|slot| self.set_of(*slot) == CACHED) {
            self.forget(slot);
        }
    }

    fn request(&mut self, request: &CacheRequest) -> bool {
        let (weight, second) = (W::of(request.size), self.seconds.of(request));
        let Some(slot) = self.lists.find(request.id) else {
            let set = if self.needed(request) <= 1 { CACHED } else { CANDIDATES };
            self.insert(set, request.id, Object { hits: 1, second }, weight);
            return false;
        };
        self.reweigh(slot, weight);
        if self.set_of(slot) == CANDIDATES {
            self.candidate(slot, request, second);
            return false;
        }
        self.count(slot, second);
        self.pop_above(CACHED, self.capacity);
        true
    }
}
