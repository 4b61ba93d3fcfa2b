//! S3-FIFO: a small queue filters one-hit wonders from the main queue; ghosts of the small queue enter the main one at
//! once.
//!
//! Two points that the paper leaves open follow its authors' program: until the first eviction the main queue takes
//! what the small one has no room for, and a ghost is removed before another object is evicted and remembered.

use super::lists::WeightedLists;
use super::{CacheConfig, EvictionLog, Policy, PolicyKind, PolicyParameter, share};
use crate::key_id::KeyId;
use crate::request::{CacheRequest, RequestFields};
use crate::weight::Weight;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "s3-fifo",
    about: "a small queue filters one-hit wonders; the main queue reinserts objects requested meanwhile",
    source: "Yang et al., SOSP 2023",
    parameters: &[
        PolicyParameter {
            name: "small",
            meaning: "share of the capacity for the small queue",
            default: 0.1,
            min: 0.0,
            max: 1.0,
            is_whole: false,
        },
        PolicyParameter {
            name: "ghost",
            meaning: "size of the ghost queue of objects evicted from the small queue, in capacities",
            default: 0.9,
            min: 0.0,
            max: 1000.0,
            is_whole: false,
        },
        PolicyParameter {
            name: "threshold",
            meaning: "hits in the small queue from which an object moves to the main queue",
            default: 2.0,
            min: 1.0,
            max: 3.0,
            is_whole: true,
        },
    ],
    details: RequestFields::NONE,
    create: by_weight!(S3Fifo),
};

const SMALL: usize = 0;
const MAIN: usize = 1;
const GHOST: usize = 2;

/// The largest hit count.
const HITS_MAX: u8 = 3;

struct S3Fifo<W> {
    capacity: u64,
    small: u64,
    ghost: u64,
    threshold: u8,
    has_evicted: bool,
    lists: WeightedLists<u8, W, 3>,
    eviction_log: EvictionLog,
}

impl<W: Weight> S3Fifo<W> {
    fn new(setting: &CacheConfig<'_>) -> Self {
        let [small, ghost, threshold] = [0, 1, 2].map(|at| setting.parameters[at]);
        Self {
            capacity: setting.capacity,
            small: share(setting.capacity, small),
            ghost: share(setting.capacity, ghost),
            threshold: threshold as u8,
            has_evicted: false,
            lists: WeightedLists::new(setting.requests.keys()),
            eviction_log: EvictionLog::default(),
        }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.used() > limit {
            self.has_evicted = true;
            let from_small = self.lists.weight(SMALL) >= self.small || self.lists.is_empty(MAIN);
            if from_small && !self.lists.is_empty(SMALL) { self.evict_small() } else { self.evict_main() }
        }
    }

    /// Evicts the first object of the small queue without enough requests for the main one.
    fn evict_small(&mut self) {
        while let Some(slot) = self.lists.oldest(SMALL) {
            let stays = self.lists.value(slot) >= self.threshold;
            *self.lists.value_mut(slot) = 0;
            if !stays {
                self.eviction_log.record(self.lists.id(slot));
                self.lists.move_to(slot, GHOST);
                return self.lists.trim(GHOST, self.ghost);
            }
            self.lists.move_to(slot, MAIN);
        }
    }

    /// Evicts the first object of the main queue without requests; all before it are reinserted.
    fn evict_main(&mut self) {
        while let Some(slot) = self.lists.oldest(MAIN) {
            if self.lists.value(slot) == 0 {
                self.eviction_log.record(self.lists.id(slot));
                return self.lists.remove(slot);
            }
            *self.lists.value_mut(slot) -= 1;
            self.lists.move_to(slot, MAIN);
        }
    }
}

impl<W: Weight> Policy for S3Fifo<W> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.lists.weight(SMALL) + self.lists.weight(MAIN)
    }

    fn holds(&self, id: KeyId) -> bool {
        self.lists.find(id).is_some_and(|slot| self.lists.list(slot) != GHOST)
    }

    fn eviction_log(&mut self) -> &mut EvictionLog {
        &mut self.eviction_log
    }

    fn remove(&mut self, id: KeyId) {
        if let Some(slot) = self.lists.find(id).filter(|slot| self.lists.list(*slot) != GHOST) {
            self.lists.remove(slot);
        }
    }

    #[inline]
    fn request(&mut self, request: &CacheRequest) -> bool {
        let weight = W::of(request.size);
        if let Some(slot) = self.lists.find(request.id)
            && self.lists.list(slot) != GHOST
        {
            let hits = self.lists.value_mut(slot);
            *hits = (*hits + 1).min(HITS_MAX);
            if self.lists.reweigh(slot, weight) {
                self.evict_above(self.capacity);
            }
            return true;
        }
        let ghost = self.lists.find(request.id);
        if let Some(ghost) = ghost {
            self.lists.remove(ghost);
        }
        self.evict_above(self.capacity - weight.get());
        let fills_up = !self.has_evicted && self.lists.weight(SMALL) >= self.small;
        self.lists.insert(if ghost.is_some() || fills_up { MAIN } else { SMALL }, request.id, 0, weight);
        false
    }
}
